"""Well-known nets for text, written as people write them; `t` is the library.

Their parameters have the names of nanoGPT's and of Hugging Face's BERT. The translator looks at what it read
by additive attention, as that of PyTorch's tutorial.
"""

import math


def gpt(t, layers=12, heads=12, width=768, words=50257, length=1024):
    nn, F = t.nn, t.nn.functional

    class CausalSelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)

        def forward(self, x):
            batch, steps, _ = x.size()
            q, k, v = (
                part.view(batch, steps, heads, width // heads).transpose(1, 2)
                for part in self.c_attn(x).split(width, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.c_proj(y.transpose(1, 2).contiguous().view(batch, steps, width))

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.c_fc = nn.Linear(width, 4 * width)
            self.gelu = nn.GELU()
            self.c_proj = nn.Linear(4 * width, width)

        def forward(self, x):
            return self.c_proj(self.gelu(self.c_fc(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1 = nn.LayerNorm(width)
            self.attn = CausalSelfAttention()
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = MLP()

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.ModuleDict(
                dict(
                    wte=nn.Embedding(words, width),
                    wpe=nn.Embedding(length, width),
                    h=nn.ModuleList([Block() for _ in range(layers)]),
                    ln_f=nn.LayerNorm(width),
                )
            )
            self.lm_head = nn.Linear(width, words, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, ids):
            places = t.arange(0, ids.size(1), dtype=t.long, device=ids.device)
            x = self.transformer.wte(ids) + self.transformer.wpe(places)
            for block in self.transformer.h:
                x = block(x)
            return self.lm_head(self.transformer.ln_f(x))

    return GPT()


def bert_dense(nn, width):
    class Intermediate(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.Linear(width, 4 * width)
            self.intermediate_act_fn = nn.GELU()

        def forward(self, x):
            return self.intermediate_act_fn(self.dense(x))

    class Pooler(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.Linear(width, width)
            self.activation = nn.Tanh()

        def forward(self, x):
            return self.activation(self.dense(x[:, 0]))

    return Intermediate, Pooler


def bert(t, layers=12, heads=12, width=768, words=30522, length=512):
    nn = t.nn
    Intermediate, Pooler = bert_dense(nn, width)

    class Embeddings(nn.Module):
        def __init__(self):
            super().__init__()
            self.word_embeddings = nn.Embedding(words, width, padding_idx=0)
            self.position_embeddings = nn.Embedding(length, width)
            self.token_type_embeddings = nn.Embedding(2, width)
            self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(0.0)

        def forward(self, ids, kinds):
            x = self.word_embeddings(ids) + self.token_type_embeddings(kinds)
            x = x + self.position_embeddings(t.arange(ids.size(1)))
            return self.dropout(self.LayerNorm(x))

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width)
            self.value = nn.Linear(width, width)
            self.dropout = nn.Dropout(0.0)

        def apart(self, x):
            return x.view(*x.shape[:-1], heads, width // heads).permute(0, 2, 1, 3)

        def forward(self, x, mask):
            q, k, v = self.apart(self.query(x)), self.apart(self.key(x)), self.apart(self.value(x))
            scores = t.matmul(q, k.transpose(-1, -2)) / math.sqrt(width // heads) + mask
            context = t.matmul(self.dropout(scores.softmax(dim=-1)), v)
            return context.permute(0, 2, 1, 3).contiguous().view(x.shape)

    class Output(nn.Module):
        def __init__(self, before):
            super().__init__()
            self.dense = nn.Linear(before, width)
            self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
            self.dropout = nn.Dropout(0.0)

        def forward(self, x, residual):
            return self.LayerNorm(self.dropout(self.dense(x)) + residual)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.self = SelfAttention()
            self.output = Output(width)

        def forward(self, x, mask):
            return self.output(self.self(x, mask), x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = Attention()
            self.intermediate = Intermediate()
            self.output = Output(4 * width)

        def forward(self, x, mask):
            x = self.attention(x, mask)
            return self.output(self.intermediate(x), x)

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.ModuleList([Layer() for _ in range(layers)])

        def forward(self, x, mask):
            for layer in self.layer:
                x = layer(x, mask)
            return x

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = Embeddings()
            self.encoder = Encoder()
            self.pooler = Pooler()

        def forward(self, ids):
            mask = (ids == 0)[:, None, None, :].float() * t.finfo(t.float32).min
            x = self.encoder(self.embeddings(ids, t.zeros_like(ids)), mask)
            return t.cat([x, self.pooler(x)[:, None]], 1)

    return Bert()


def translator(t, words=40, width=16):
    """A GRU reads, an LSTM writes, and looks at what was read by additive attention."""
    nn, F = t.nn, t.nn.functional

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, bidirectional=True, batch_first=True)
            self.bridge = nn.Linear(2 * width, width)

        def forward(self, ids, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embedding(ids), lengths, batch_first=True, enforce_sorted=False
            )
            seen, (hidden, _) = self.lstm(packed)
            seen, _ = nn.utils.rnn.pad_packed_sequence(seen, batch_first=True)
            return self.bridge(seen), self.bridge(t.cat([hidden[0], hidden[1]], -1)).tanh()

    class BahdanauAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.Wa = nn.Linear(width, width)
            self.Ua = nn.Linear(width, width)
            self.Va = nn.Linear(width, 1)

        def forward(self, query, keys, mask):
            scores = self.Va(t.tanh(self.Wa(query)[:, None] + self.Ua(keys))).squeeze(-1)
            weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
            return t.bmm(weights[:, None], keys).squeeze(1)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.attention = BahdanauAttention()
            self.cell = nn.LSTMCell(2 * width, width)
            self.out = nn.Linear(width, words)

        def forward(self, ids, seen, hidden, mask):
            state, said = (hidden, t.zeros_like(hidden)), []
            for word in self.embedding(ids).unbind(1):
                context = self.attention(state[0], seen, mask)
                state = self.cell(t.cat([word, context], -1), state)
                said.append(self.out(state[0]))
            return t.stack(said, 1)

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()
            self.decoder = Decoder()

        def forward(self, ids):
            lengths = (ids != 0).sum(1).clamp(min=1)
            seen, hidden = self.encoder(ids, lengths.tolist())
            mask = t.arange(seen.size(1))[None] >= lengths[:, None]
            return self.decoder(ids, seen, hidden, mask)

    return Translator()
