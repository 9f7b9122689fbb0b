from rushlight.utils import *
