"""What a picture says."""


def texts(ax):
    """The texts of a picture, in the order in which they were drawn."""
    return [text.get_text() for text in ax.texts]
