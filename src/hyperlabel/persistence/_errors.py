"""The one error of model files."""


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be trusted to give it back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import hyperlabel
    >>> from hyperlabel.persistence import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.hyper")
    ...     _ = path.write_text("not a model")
    ...     try:
    ...         hyperlabel.load(path)
    ...     except ModelFileError as error:
    ...         print(str(error).replace(str(path), "model.hyper"))
    model.hyper is not a hyperlabel model file, or it was cut short: copy or save it again.
    """
