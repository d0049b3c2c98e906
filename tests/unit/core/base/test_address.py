"""A bucket's address and the folder that stands for it tell the same; no folder that people name stands for one."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.address import SCHEMES, address_to_folder, folder_to_address, is_address, normalize_address
from tests.support.parametrize import each

PARTS = st.text(min_size=1, max_size=20).filter(
    lambda part: part not in (".", "..") and part.isprintable() and not set(part) & set("/?#%\\")
)


@given(st.sampled_from(SCHEMES), st.lists(PARTS, min_size=1, max_size=3))
def test_the_folder_of_an_address_says_the_address(scheme: str, parts: list[str]) -> None:
    address = f"{scheme}://{'/'.join(parts)}"
    assert normalize_address(address) == normalize_address(address + "/") == address
    name = address_to_folder(address)
    assert name is None or folder_to_address(name) == address


@given(PARTS, PARTS)
def test_two_addresses_have_two_folders_wherever_case_is_not_told_apart(one: str, other: str) -> None:
    names = {address_to_folder(f"s3://bucket/{part}") for part in (one, other)}
    assert one == other or None in names or len({str(name).casefold() for name in names}) == 2


@given(st.text())
def test_no_other_folder_stands_for_a_bucket(name: str) -> None:
    address = folder_to_address(name)
    assert address is None or address_to_folder(address) == name


@each(
    "text",
    ["", "s3://", "s3:///a", "s3://b//c", "s3://b/../c", "s3://b/./c", "s3://b?x=1", "s3://b#c", "s3://b/c%2f",
     "s3://b/\n", "file:///etc", "http://host/b", "S3://b", "memory", "/s3://b", "s3:/b", "memory://b", "s3://b\\c"],
)  # fmt: skip
def test_what_is_no_address_is_none(text: str) -> None:
    assert normalize_address(text) is None


@each(
    "name",
    ["s3%3a%2f%2f", "s3%3A%2F%2Fbucket", "s3%3a%2f%2fbucket%", "s3%3a%2f%2fbucket%zz", "s3%3a%2f%2fb%2f", "memory",
     "ftp%3a%2f%2fbucket", "s3%3a%2f%2f%ff", "%3a%2f%2f", "s3%3a%2f%2fb%2f%2e%2e", "s3%3a%2f%2fBucket"],
)  # fmt: skip
def test_a_name_that_lineage_never_gave_is_an_ordinary_folder(name: str) -> None:
    assert folder_to_address(name) is None


def test_an_address_that_is_too_long_for_a_folder_s_name_has_none() -> None:
    assert address_to_folder("s3://bucket/" + "x" * 240) is None
    assert address_to_folder("s3://bucket/" + "x" * 200) is not None


def test_anything_with_a_scheme_is_meant_as_an_address() -> None:
    assert is_address("s3://bucket")
    assert is_address("ftp://host")
    assert not is_address("C:/Users/ada")
    assert not is_address("~/.agents")
