"""PyTorch programs: their import through torch.export, and the back end of torch.compile."""
