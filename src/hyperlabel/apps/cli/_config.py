"""``--config run.toml``: options of a command from a file, so that a run can be repeated."""

import tomllib
from pathlib import Path
from typing import Any

import click


def _read_config(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    command_name = ctx.command.name or ""
    file_options = _read_command_options(path, command_name)
    by_spelling = {spelling: p for p in ctx.command.params for spelling in _list_option_spellings(p)}
    option_defaults: dict[str, Any] = {}
    for option_name, option_value in file_options.items():
        parameter = by_spelling.get(option_name.replace("_", "-"))
        if parameter is None or parameter.name is None:
            option_names = ", ".join(sorted(by_spelling))
            raise ValueError(f"{path}: {command_name} has no option {option_name!r}; it has {option_names}.")
        if parameter.multiple and not isinstance(option_value, list):
            option_value = [option_value]
        is_comma_list = isinstance(option_value, list) and not parameter.multiple and parameter.nargs == 1
        option_defaults[parameter.name] = ",".join(map(str, option_value)) if is_comma_list else option_value
    ctx.default_map = {**(ctx.default_map or {}), **option_defaults}


def _read_command_options(path: str, command: str) -> dict[str, Any]:
    """Return the command's table of a file, or its plain keys where it has none."""
    try:
        file_tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}.") from error
    command_options = file_tables.get(
        command, {k: v for k, v in file_tables.items() if not isinstance(v, dict)}
    )
    if not isinstance(command_options, dict):
        raise ValueError(f"{path}: [{command}] must be a table of options.")
    return command_options


def _list_option_spellings(parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Argument):
        return [str(parameter.name).replace("_", "-")]
    long_names = [o[2:] for o in [*parameter.opts, *parameter.secondary_opts] if o.startswith("--")]
    return [name for name in long_names if name != "config"]


config_option = click.option(
    "--config",
    callback=_read_config,
    is_eager=True,
    expose_value=False,
    help="TOML file of options: a table named after the command, or plain keys.",
)
