"""Damaged, threshold, forged and future files: one clear error, no code run, nothing huge allocated."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import pickle
import shutil
import zipfile
import zlib

import numpy as np
import pytest
from scipy import sparse

import hyperlabel
from hyperlabel.persistence import ModelFileError
from hyperlabel.persistence._probe import answers_agree


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 8), density=0.4, format="csr", rng=rng)
    Y = sparse.csr_array((rng.random((40, 3)) < 0.4).astype(int))
    path = tmp_path_factory.mktemp("good") / "m.hyper"
    hyperlabel.save(hyperlabel.MLkNN(3).fit(X, Y), path)
    return path


def forge(good, path, change=None, members=None, digest=True):
    """Write the file again with another manifest and other members, digests made to fit."""
    with zipfile.ZipFile(good) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content.update(members or {})
    manifest = json.loads(content["model.json"])
    for name, value in (members or {}).items():
        if name in manifest["arrays"]:
            manifest["arrays"][name] = zlib.crc32(value)
    if change is not None:
        manifest = change(manifest) or manifest
    content["model.json"] = json.dumps(manifest).encode()
    if digest:
        content["model.sha256"] = hashlib.sha256(content["model.json"]).hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            archive.writestr(name, value)
    return path


def npy(array, **kwargs):
    buffer = io.BytesIO()
    np.save(buffer, array, **kwargs)
    return buffer.getvalue()


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        hyperlabel.load(path)
    assert len(str(caught.value)) < 500


def state(manifest):
    return manifest["model"]["state"]


def array_name(good, *keys):
    with zipfile.ZipFile(good) as archive:
        node = state(json.loads(archive.read("model.json")))
    for key in keys:
        node = node[key]
    return node["name"]


def test_forging_without_change_still_loads(good, tmp_path):
    assert hyperlabel.load(forge(good, tmp_path / "m")).n_neighbors == 3


def test_cut_anywhere(good, tmp_path):
    whole = good.read_bytes()
    for size in np.linspace(0, len(whole) - 1, 40).astype(int):
        (tmp_path / "m").write_bytes(whole[:size])
        refused(tmp_path / "m", "truncated|not a hyperlabel model|damaged")


def test_any_flipped_byte_is_noticed_or_harmless(good, tmp_path):
    whole = bytearray(good.read_bytes())
    rng = np.random.default_rng(1)
    expected = hyperlabel.load(good).decision_function(np.eye(8))
    caught = 0
    for place in rng.choice(len(whole), size=150, replace=False):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "m").write_bytes(broken)
        try:
            model = hyperlabel.load(tmp_path / "m")
        except ModelFileError:
            caught += 1
        else:  # bytes of the zip's own bookkeeping (dates, flags for other systems) carry no data
            np.testing.assert_array_equal(model.decision_function(np.eye(8)), expected)
    assert caught > 75


def test_tampering_without_the_digests(good, tmp_path):
    refused(
        forge(good, tmp_path / "m", lambda m: state(m).update(n_neighbors=4), digest=False),
        "checksum differs",
    )
    with zipfile.ZipFile(good) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    name = array_name(good, "log_odds_")
    content[name] = content[name][:-1] + bytes([content[name][-1] ^ 1])
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for member, value in content.items():
            archive.writestr(member, value)
    refused(tmp_path / "m", "checksum differs")


def test_another_answer_is_noticed(good, tmp_path):
    name = array_name(good, "log_odds_")
    with zipfile.ZipFile(good) as archive:
        table = np.load(io.BytesIO(archive.read(name)))
    forge(good, tmp_path / "m", members={name: npy(table + 0.01)})
    refused(tmp_path / "m", "does not repeat its stored .* install those versions, or fit")
    assert hyperlabel.load(tmp_path / "m", check=False).n_neighbors == 3


@pytest.mark.parametrize(("factor", "tells"), [(1 + 1e-4, True), (1 - 3e-5, True), (1 + 1e-9, False)])
def test_answers_are_compared_to_rounding(good, tmp_path, factor, tells):
    """A model that differs in the fifth digit is another one; in the tenth it may be the machine."""
    name = array_name(good, "log_odds_")
    with zipfile.ZipFile(good) as archive:
        table = np.load(io.BytesIO(archive.read(name)))
    forge(good, tmp_path / "m", members={name: npy(table * factor)})
    if tells:
        refused(tmp_path / "m", "does not repeat its stored")
    else:
        hyperlabel.load(tmp_path / "m")


def test_answers_near_zero_are_compared_on_the_scale_of_the_others():
    stored = np.array([1.0, 0.0, -2.0])
    near, other = np.array([1.0, 1e-9, -2.0]), np.array([1.0, 1e-6, -2.0])
    assert answers_agree(stored, near)
    assert not answers_agree(stored, other)
    assert not answers_agree(sparse.csr_array(stored[None]), sparse.csr_array(other[None]))


def test_the_future_and_the_unknown(good, tmp_path):
    refused(forge(good, tmp_path / "a", lambda m: m.update(format_version=5)), "upgrade hyperlabel")
    refused(forge(good, tmp_path / "o", lambda m: m.update(format_version=1)), "fit the model again")
    refused(forge(good, tmp_path / "b", lambda m: m.update(format="other")), "not a hyperlabel model file")
    for name in ("os.system", "hyperlabel.apps.cli.main", "sklearn.tree.DecisionTreeClassifier"):
        refused(forge(good, tmp_path / "c", lambda m, n=name: m["model"].update(type=n)), "not on the list")
    refused(forge(good, tmp_path / "f", lambda m: state(m).update(metric={"kind": "new"})), "does not know")
    function = {"kind": "function", "name": "builtins.eval"}
    refused(forge(good, tmp_path / "g", lambda m: state(m).update(metric=function)), "not on the list")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("model"),
        lambda m: m.pop("arrays"),
        lambda m: m.update(model=None, check={"rows": None}),
        lambda m: m["model"].pop("state"),
        lambda m: state(m).update({"__class__": 1}),
        lambda m: state(m).update(_rows={"kind": "array", "name": "../../etc/passwd"}),
        lambda m: state(m).update(_rows={"kind": "same", "id": 99}),
        lambda m: state(m).update(_rows={"kind": "dtype", "value": "no such"}),
        lambda m: state(m)["_labels"].update(shape=[40, 1]),
        lambda m: state(m)["_labels"].update(shape=[-1, 3]),
        lambda m: state(m)["_labels"].update(type="list"),
        lambda m: ["not", "a", "dict"],
    ],
)
def test_descriptions_that_make_no_sense(good, tmp_path, change):
    def changed(manifest):
        answer = change(manifest)
        return answer if isinstance(answer, list) and answer else None

    refused(forge(good, tmp_path / "m", changed), "tampered|not a hyperlabel|trust|know")


def places(node, found):
    """Every place of a JSON tree, as (container, key)."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            places(node[key], found)
    return found


def test_random_changes_never_get_past_the_one_error(good, tmp_path):
    rng = np.random.default_rng(2)
    values = [
        None,
        -1,
        10**12,
        0.5,
        "cosine",
        [],
        {},
        {"kind": "same", "id": 0},
        {"kind": "float", "value": "nan"},
    ]

    def change(manifest):
        found = places(manifest, [])
        node, key = found[rng.integers(len(found))]
        node[key] = values[rng.integers(len(values))]

    for _ in range(150):
        forge(good, tmp_path / "m", change)
        with contextlib.suppress(ModelFileError):
            hyperlabel.load(tmp_path / "m")


def test_nesting_without_end(good, tmp_path):
    with zipfile.ZipFile(good) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    deep = content["model.json"].replace(b'"metadata": null', b'"metadata": ' + b"[" * 200000 + b"]" * 200000)
    content["model.json"] = deep
    content["model.sha256"] = hashlib.sha256(deep).hexdigest().encode()
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, value in content.items():
            archive.writestr(name, value)
    refused(tmp_path / "m", "damaged or tampered")


def test_zip_bombs(good, tmp_path):
    path = tmp_path / "m"
    shutil.copy(good, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arrays/99.npy", bytes(10**7))
    refused(path, "zip bomb")
    raw = bytearray(good.read_bytes())  # a central directory that claims more than there is
    place = raw.rfind(b"PK\x01\x02")
    raw[place + 20 : place + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(raw)
    refused(path, "claims to hold more than its size")
    shutil.copy(good, path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model.json", b"{}")
    refused(path, "two members")


def test_members_that_overlap_are_more_than_the_file(good, tmp_path):
    """One member inside another: each is whole, and ten thousand such would be a bomb."""
    inner = zipfile.ZipInfo("arrays/98.npy")
    content = npy(np.zeros(1000))
    record = io.BytesIO()
    with zipfile.ZipFile(record, "w") as archive:
        archive.writestr(inner, content)
    local = record.getvalue()[: record.getvalue().index(b"PK\x01\x02")]
    path = tmp_path / "m"
    shutil.copy(good, path)
    with zipfile.ZipFile(path, "a") as archive:
        start = archive.start_dir
        archive.writestr("arrays/97.npy", local)
        outer = archive.getinfo("arrays/97.npy")
        place = start + 30 + len(outer.filename)  # where the outer member's content begins
        hidden = archive.filelist[-1].__class__("arrays/98.npy")
        hidden.CRC, hidden.file_size, hidden.compress_size = zlib.crc32(content), len(content), len(content)
        hidden.header_offset = place
        archive.filelist.append(hidden)
        archive.NameToInfo["arrays/98.npy"] = hidden
        archive._didModify = True
    assert sum(one.file_size for one in zipfile.ZipFile(path).infolist()) > path.stat().st_size
    refused(path, "claims to hold more than its size")


@pytest.mark.parametrize("member", ["model.json", "arrays/0.npy"])
def test_encrypted_members_are_refused(good, tmp_path, member):
    """Without a look at the flag, reading one ends in zipfile's own error, which asks for a password."""
    raw = bytearray(good.read_bytes())
    for record, flags, name in ((b"PK\x01\x02", 8, 46), (b"PK\x03\x04", 6, 30)):
        place = next(
            at
            for at in range(len(raw))
            if raw[at : at + 4] == record and raw[at + name : at + name + len(member)] == member.encode()
        )
        raw[place + flags] |= 1
    (tmp_path / "m").write_bytes(raw)
    refused(tmp_path / "m", "compressed or encrypted members")


def test_arrays_that_lie_about_their_size(good, tmp_path):
    name = array_name(good, "log_odds_")
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        huge, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    refused(
        forge(good, tmp_path / "a", members={name: huge.getvalue() + bytes(64)}), "does not match its size"
    )
    refused(forge(good, tmp_path / "b", members={name: b"not an array"}), "not a readable array")


def test_indices_out_of_range_never_reach_compiled_code(good, tmp_path):
    name = array_name(good, "_labels", "indices")
    with zipfile.ZipFile(good) as archive:
        indices = np.load(io.BytesIO(archive.read(name)))
    indices[0] = 10**6
    refused(forge(good, tmp_path / "a", members={name: npy(indices)}), "damaged or tampered")
    name = array_name(good, "_labels", "indptr")
    with zipfile.ZipFile(good) as archive:
        ends = np.load(io.BytesIO(archive.read(name)))
    for last in (-1, 0):  # scipy then looks at nothing else
        ends[-1] = last
        refused(forge(good, tmp_path / "c", members={name: npy(ends)}), "damaged or tampered")
    table = array_name(good, "log_odds_")
    refused(forge(good, tmp_path / "b", members={table: npy(np.zeros((1, 1)))}), "does not describe")


class Bomb:
    def __reduce__(self):
        return print, ("code ran",)


def test_no_code_is_run(good, tmp_path, monkeypatch, capsys):
    def forbidden(*args, **kwargs):
        raise AssertionError("pickle was used")

    objects = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    name = array_name(good, "log_odds_")
    for function in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, function, forbidden)
    refused(forge(good, tmp_path / "a", members={name: objects}), "do not trust|not a readable")
    hyperlabel.load(good)
    (tmp_path / "b").write_bytes(pickle.dumps(Bomb()))
    refused(tmp_path / "b", "not a hyperlabel model file")
    assert "code ran" not in capsys.readouterr().out


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        hyperlabel.load(tmp_path / "nothing.hyper")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    refused(tmp_path / "other.zip", "not a hyperlabel model file")
