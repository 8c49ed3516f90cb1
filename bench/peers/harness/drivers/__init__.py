"""The peers. ALL maps a name to its class; add your own here. Ostler is first: ratios are taken against it."""

from .circus import Circus
from .horust import Horust
from .monit import Monit
from .ostler import Ostler
from .pitchfork import Pitchfork, PitchforkCaptured
from .pm2 import Pm2
from .pueue import Pueue
from .runit import Runit
from .s6 import S6
from .supervisord import Supervisord
from .systemd import Systemd

ALL = {c.name: c for c in (Ostler, Supervisord, Pm2, Circus, Runit, S6, Monit, Horust, Systemd, Pitchfork,
                           PitchforkCaptured, Pueue)}
