"""What torch.utils.data exports of DataPipes: the names, for scripts that ask what a dataset is."""
