"""Imports PyTorch programs through torch.export, and provides the backend of torch.compile."""
