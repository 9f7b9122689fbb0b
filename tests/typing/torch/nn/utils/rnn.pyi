from rushlight.nn.utils.rnn import *
