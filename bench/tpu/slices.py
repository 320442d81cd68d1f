"""TPU slices that are not there, as meshes to compile for."""

import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh


def mesh(topology, slices=1, **axes):
    """A mesh of devices that can be compiled for and not run on.

    topology  such as "v5p:4x4x4"
    slices   how many of them; more than one are joined by the data centre's
             network
    axes     size of each mesh axis, such as X=16, Y=4
    returns  jax.sharding.Mesh; the last axis is the fastest, in the order of
             the compiler's own mesh of the slice
    source   chapter 20
    """
    found = topologies.get_topology_desc(topology, "tpu", num_slices=slices)
    devices = sorted(found.devices, key=_place)
    grid = np.array(devices).reshape(tuple(axes.values()))
    return Mesh(grid, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def _place(device):
    """Slice by slice, and in each by coordinates."""
    return getattr(device, "slice_index", 0), tuple(device.coords), device.id
