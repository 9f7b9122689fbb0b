from rushlight.nn.utils import *
