class BlockSparse:
    pass
