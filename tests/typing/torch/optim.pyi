from rushlight.optim import *
