"""What an instructor needs beside the notebooks: the answer key."""
