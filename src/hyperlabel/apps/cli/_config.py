"""``--config run.toml``: options of a command from a file, so that a run can be repeated."""

import tomllib
from pathlib import Path
from typing import Any

import click


def _read_config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    command = ctx.command.name or ""
    given = _command_table(path, command)
    by_spelling = {spelling: p for p in ctx.command.params for spelling in _option_spellings(p)}
    defaults: dict[str, Any] = {}
    for key, value in given.items():
        parameter = by_spelling.get(key.replace("_", "-"))
        if parameter is None or parameter.name is None:
            known = ", ".join(sorted(by_spelling))
            raise ValueError(f"{path}: {command} has no option {key!r}; it has {known}.")
        if parameter.multiple and not isinstance(value, list):
            value = [value]
        joined = isinstance(value, list) and not parameter.multiple and parameter.nargs == 1
        defaults[parameter.name] = ",".join(map(str, value)) if joined else value
    ctx.default_map = {**(ctx.default_map or {}), **defaults}


def _command_table(path: str, command: str) -> dict[str, Any]:
    """Return the command's table of a file, or its plain keys where it has none."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from error
    given = content.get(command, {k: v for k, v in content.items() if not isinstance(v, dict)})
    if not isinstance(given, dict):
        raise ValueError(f"{path}: [{command}] must be a table of options.")
    return given


def _option_spellings(parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Argument):
        return [str(parameter.name).replace("_", "-")]
    longs = [o[2:] for o in [*parameter.opts, *parameter.secondary_opts] if o.startswith("--")]
    return [name for name in longs if name != "config"]


config_option = click.option(
    "--config",
    callback=_read_config,
    is_eager=True,
    expose_value=False,
    help="TOML file of options: a table named after the command, or plain keys.",
)
