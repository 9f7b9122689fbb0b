"""Files of PyTorch and safetensors above the C reader and writer: names, objects, containers."""
