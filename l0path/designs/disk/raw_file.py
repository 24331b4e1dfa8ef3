"""A file read at any place by any thread into our own buffers: pages of a memory map would count as
memory of this process.
"""

import os
import threading
import weakref

MOST_AT_ONCE = 1 << 30  # bytes asked for at once; Linux gives at most 2 GB


class RawFile:
    """The bytes of a file; closed when it is no longer used, opened again where it is unpickled."""

    def __init__(self, path):
        self.path = str(path)
        self._descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = threading.Lock()
        weakref.finalize(self, os.close, self._descriptor)

    def __reduce__(self):
        return RawFile, (os.path.abspath(self.path),)

    def fill(self, view, place):
        """Fill a flat uint8 array with the bytes from `place` on; OSError if there are fewer."""
        done = 0
        while done < view.size:
            part = memoryview(view[done : done + MOST_AT_ONCE])
            if hasattr(os, "preadv"):
                got = os.preadv(self._descriptor, [part], place + done)
            else:
                with self._lock:
                    os.lseek(self._descriptor, place + done, os.SEEK_SET)
                    data = os.read(self._descriptor, len(part))
                got = len(data)
                part[:got] = data
            if not got:
                raise OSError(
                    f"source {self.path} ended at byte {place + done}, {view.size - done} bytes "
                    "early; it was cut short while it was read"
                )
            done += got

    def ahead(self, place, length):
        """Let the system fetch these bytes from the disk; costs no memory of this process."""
        if length > 0 and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, place, length, os.POSIX_FADV_WILLNEED)
