"""EQ-Bench (arXiv 2312.06281): how strongly does a character feel each of four emotions at the end of a dialogue?"""
