from rushlight.nn.functional import *
