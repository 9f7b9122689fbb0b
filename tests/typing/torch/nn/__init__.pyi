from rushlight.nn import *
