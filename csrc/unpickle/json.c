/* A cursor over JSON. What it refuses, readers that follow the standard refuse, too. */
#include "internal.h"
#include <string.h>

rl_status rl_json_fail(rl_json *j, const char *why) {
    return rl_reader_fail(j->reader, RL_READER_RUNTIME, "invalid JSON in header: %s at byte %lld", why,
                          (long long)(j->at - j->start));
}

/* The next character that is no white space, not taken; 0 at the end (a NUL is never right). */
static char json_peek(rl_json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
    return j->at < j->end ? *j->at : 0;
}

rl_status rl_json_take(rl_json *j, char c) {
    char why[] = "expected `?`";
    if (json_peek(j) == c) return j->at++, RL_OK;
    why[10] = c;
    return rl_json_fail(j, why);
}

int rl_json_more(rl_json *j, char close, bool first) {
    if (json_peek(j) == close) return j->at++, 0;
    return first || !rl_json_take(j, ',') ? 1 : -1;
}

rl_status rl_json_close(rl_json *j) {
    return json_peek(j) || j->at < j->end ? rl_json_fail(j, "trailing characters") : RL_OK;
}

static bool json_word(rl_json *j, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n)) return false;
    j->at += n;
    return true;
}

bool rl_json_null(rl_json *j) {
    return json_peek(j) == 'n' && json_word(j, "null");
}

/* ---- texts ---- */
static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX, at its u; -1: none */
static int32_t escape_unit(rl_json *j) {
    int32_t unit = 0;
    if (j->end - j->at < 5 || *j->at != 'u') return -1;
    for (int i = 1; i < 5; i++) {
        int digit = hex_digit(j->at[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    j->at += 5;
    return unit;
}

/* One or two units: a character, or -1 for halves of one */
static int32_t escape_character(rl_json *j) {
    int32_t high = escape_unit(j);
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high > 0xdbff || j->end - j->at < 6 || *j->at != '\\') return -1;
    j->at++;
    int32_t low = escape_unit(j);
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

static char *escape_encode(char *to, int32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)(0xff00 >> (more + 1) | c >> 6 * more);
    while (more--) *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    return to;
}

/* At what follows a backslash; NULL: nothing that may */
static char *escape_take(rl_json *j, char *to) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (*j->at == 'u') {
        int32_t c = escape_character(j);
        return c < 0 ? NULL : escape_encode(to, c);
    }
    const char *found = *j->at ? strchr(letters, *j->at) : NULL;
    if (!found) return NULL;
    j->at++;
    *to = meant[found - letters];
    return to + 1;
}

/* From `begin` to the quote at `end`, where `j` stands behind the quote afterwards. */
static rl_status text_unescape(rl_json *j, const char *begin, const char *end, rl_text *text) {
    char *to = rl_reader_alloc(j->reader, end - begin + 1);
    if (!to) return RL_FAIL;
    text->at = to;
    for (j->at = begin; j->at < end;) {
        if (*j->at != '\\') {
            *to++ = *j->at++;
            continue;
        }
        j->at++;
        to = escape_take(j, to);
        if (!to) return rl_json_fail(j, "invalid escape");
    }
    text->n = to - text->at;
    j->at = end + 1;
    return RL_OK;
}

rl_status rl_json_text(rl_json *j, rl_text *to) {
    if (json_peek(j) != '"') return rl_json_fail(j, "expected a string");
    const char *begin = ++j->at;
    bool escaped = false;
    for (; j->at < j->end && *j->at != '"'; j->at++) {
        if ((uint8_t)*j->at < 32) return rl_json_fail(j, "control character in a string");
        if (*j->at != '\\') continue;
        escaped = true;
        if (++j->at == j->end) break;
    }
    if (j->at == j->end) return rl_json_fail(j, "a string without its end");
    if (escaped) return text_unescape(j, begin, j->at, to);
    *to = (rl_text){begin, j->at++ - begin};
    return RL_OK;
}

rl_status rl_json_key(rl_json *j, rl_text *to) {
    return rl_json_text(j, to) ? RL_FAIL : rl_json_take(j, ':');
}

/* ---- numbers ---- */
static bool json_digit(const rl_json *j) {
    return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

rl_status rl_json_count(rl_json *j, uint64_t *to) {
    json_peek(j);
    if (!json_digit(j)) return rl_json_fail(j, "expected an integer of at least 0");
    const char *begin = j->at;
    *to = 0;
    for (; json_digit(j); j->at++) {
        if (__builtin_mul_overflow(*to, 10u, to) || __builtin_add_overflow(*to, (uint64_t)(*j->at - '0'), to))
            return rl_json_fail(j, "an integer of more than 64 bits");
    }
    if (*begin == '0' && j->at - begin > 1) return rl_json_fail(j, "an integer with leading zeros");
    bool real = j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E');
    return real ? rl_json_fail(j, "expected an integer, not a floating point number") : RL_OK;
}

/* A number that nobody asks for. Those above 1e308 are refused, as readers do that make doubles of them. */
static rl_status number_skip(rl_json *j) {
    int64_t before = 0, behind = 0, exponent = 0; /* digits before the point; zeros behind it */
    bool zero = true, negative = false;           /* up to the first digit that is not 0 */
    if (*j->at == '-') j->at++;
    bool leading = j->at < j->end && *j->at == '0';
    if (!json_digit(j)) return rl_json_fail(j, "expected value");
    const char *begin = j->at;
    for (; json_digit(j); j->at++) zero &= *j->at == '0', before += !zero;
    if (leading && j->at - begin > 1) return rl_json_fail(j, "invalid number");
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        if (!json_digit(j)) return rl_json_fail(j, "invalid number");
        for (; json_digit(j); j->at++) zero &= *j->at == '0', behind += zero;
    }
    if (j->at < j->end && (*j->at | 32) == 'e') {
        j->at++;
        if (j->at < j->end && (*j->at == '+' || *j->at == '-')) negative = *j->at++ == '-';
        if (!json_digit(j)) return rl_json_fail(j, "invalid number");
        for (; json_digit(j); j->at++)
            exponent = exponent < 1 << 30 ? exponent * 10 + *j->at - '0' : exponent;
    }
    int64_t digits = (before ? before : -behind) + (negative ? -exponent : exponent);
    return !zero && digits > 308 ? rl_json_fail(j, "number out of range") : RL_OK;
}

/* ---- what is passed over ---- */
static rl_status scalar_skip(rl_json *j) {
    rl_text text;
    if (*j->at == '"') return rl_json_text(j, &text);
    if (json_word(j, "null") || json_word(j, "true") || json_word(j, "false")) return RL_OK;
    return number_skip(j);
}

/* Levels that are open, innermost last. */
typedef struct {
    char close[128];
    int n;
} json_levels;

/* A scalar whole, or the opening of a level: *opened. */
static rl_status skip_begin(rl_json *j, json_levels *levels, int most, bool *opened) {
    char c = json_peek(j);
    *opened = c == '{' || c == '[';
    if (!c) return rl_json_fail(j, "unexpected end");
    if (!*opened) return scalar_skip(j);
    if (levels->n == most || levels->n == (int)sizeof levels->close)
        return rl_json_fail(j, "recursion limit exceeded");
    levels->close[levels->n++] = c == '{' ? '}' : ']';
    j->at++;
    return RL_OK;
}

/* Closes what ends here, up to where the next value begins or nothing is open. */
static rl_status skip_end(rl_json *j, json_levels *levels, bool opened) {
    while (levels->n) {
        rl_text key;
        int more = rl_json_more(j, levels->close[levels->n - 1], opened);
        if (more < 0) return RL_FAIL;
        if (more) return levels->close[levels->n - 1] == '}' ? rl_json_key(j, &key) : RL_OK;
        levels->n--;
        opened = false;
    }
    return RL_OK;
}

rl_status rl_json_skip(rl_json *j, int most) {
    json_levels levels = {.n = 0};
    bool opened;
    do {
        if (skip_begin(j, &levels, most, &opened) || skip_end(j, &levels, opened)) return RL_FAIL;
    } while (levels.n);
    return RL_OK;
}
