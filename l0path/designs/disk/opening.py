"""`blocks`: a design over a matrix that does not fit in memory, here or on the workers of a
cluster.
"""

from __future__ import annotations

from typing import Any

from l0path.designs.disk.column_blocks import ColumnBlocks
from l0path.designs.disk.memory_limit import bytes_of
from l0path.designs.disk.sources import check_chunks, open_source, optional


def blocks(
    source: Any, memory_limit: int | str = "1GB", *, client: Any = None, shards: int | None = None
) -> Any:
    """A design read from where it is stored, block by block; X is never in memory as a whole.

    Parameters
    ----------
    source : memmap, str, path, or array
        What holds X (n, p), of one of the kinds in the Notes.
    memory_limit : int or str, default "1GB"
        Bytes, as a number or a text such as "500MB" or "2GiB"; at least 10 MB. Blocks, columns kept
        for reuse and the Gram rows of support paths stay below it together. Vectors of length p and
        the working columns are not in it (docs/designs.md).
    client : dask.distributed.Client, optional
        A cluster: X is cut by columns into `shards` that its workers read, once, and keep in their
        memory; only right-hand sides and the best columns are sent (docs/distributed.md). Workers
        need l0path, and files under the same path. memory_limit is then for the columns that this
        process keeps. Needs the package distributed, of `l0path[blocks]`. None reads here.
    shards : int, optional
        The number of shards of a cluster. None means two for each of its threads.

    Returns
    -------
    ColumnBlocks or Sharded
        A design for `fit`, `cv_fit`, `predict` and everything that takes X; Sharded with a client.
        Parquet and BED columns, and those of a converted CSV file, have names, by which predictions
        take the columns of another file or DataFrame.

    Raises
    ------
    TypeError or ValueError
        If a source cannot be read in blocks, or a limit is not valid.
    MemoryError
        If memory_limit holds no whole chunks of a source that decodes them (it says how much is
        needed), or if the shards of a worker of the cluster, with room to work on them, exceed its
        memory.
    RuntimeError
        If the scheduler or the workers of the cluster are lost.
    ImportError
        If a package is missing; the message has the command that installs it.

    Notes
    -----
    The sources:

    - np.memmap, or a path to a .npy file: any real dtype; best column-major (Fortran order), which
      `l0path.designs.convert` writes. Read by `pread`, so the pages of the map take no memory.
    - A path to a .bed file of PLINK, .fam and .bim beside it, or a `bed_reader.open_bed`: copies of
      allele A1, missing entries replaced by the mean of their column over all rows (so in folds
      too).
    - A path to a .parquet file (all columns numbers), a Zarr array or its folder, a Dask array:
      decoded chunk by chunk, by the packages of `pip install "l0path[blocks]"`. Tall and narrow
      chunks are cheap; `convert` a source with chunks of whole rows first.

    Examples
    --------
    >>> import numpy as np, l0path, tempfile, pathlib
    >>> rng = np.random.default_rng(0)
    >>> X = np.asfortranarray(rng.standard_normal((80, 12)), dtype=np.float32)
    >>> y = X[:, 2] - 2 * X[:, 7]
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "X.npy"; np.save(file, X)
    >>> l0path.fit(l0path.designs.blocks(file), y, max_k=2).support(k=2)
    array([2, 7])
    """
    if client is not None:
        optional("distributed", "Designs on a Dask cluster")
        from l0path.designs.cluster.shards import Sharded

        return Sharded(open_source(source), client, bytes_of(memory_limit), shards)
    if shards is not None:
        raise ValueError(
            f"shards={shards!r} cuts X over the workers of a Dask cluster; pass client= too"
        )
    opened, limit = open_source(source), bytes_of(memory_limit)
    check_chunks(opened, limit)
    return ColumnBlocks(opened, limit)
