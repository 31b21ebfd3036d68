"""Every thread of the daemon, one module per kind. A Thread is constructed nowhere else."""
