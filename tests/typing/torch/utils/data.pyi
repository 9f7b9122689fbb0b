from rushlight.utils.data import *
