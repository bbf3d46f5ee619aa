# SPDX-License-Identifier: Apache-2.0
"""The face of a command of the program sluice, which runs in the container: tables, fields,
texts and completion are the program's. It is installed three times, as SONiC installs plugins:
show/plugins/sluice.py, and below config and clear.
"""

import json
import os
import subprocess
import sys

import click
from sonic_py_common import multi_asic

VERB = os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # show, config or clear

PACKAGES = '/var/lib/sonic-package-manager/packages.json'  # of SONiC's package manager
IMAGE = 'docker-sluice'  # where the package manager has no other
FOLDER = '/host/sluice'  # of the host, which containers see as /var/lib/sluice


def instance(words):
    """The number of the ASIC that -n names, empty where there is only one, and the other words."""
    words, chosen = list(words), None
    for i, word in enumerate(words):
        if word == '--':
            break
        if word in ('-n', '--namespace'):
            chosen = ''.join(words[i + 1:i + 2])
            del words[i:i + 2]
            break
        if word.startswith('--namespace='):
            chosen = words.pop(i).partition('=')[2]
            break
    asics = [name for name in multi_asic.get_namespace_list() if name]
    if not asics and chosen is not None:
        raise click.ClickException('-n {}: this switch has one ASIC, leave -n out'.format(chosen))
    if asics and chosen not in asics:
        raise click.ClickException('-n must be one of {}'.format(', '.join(asics)))
    return (chosen[len('asic'):] if asics else ''), words


def image():
    """The image that the package manager installed, for a container that runs where sluice's own is down."""
    try:
        with open(PACKAGES, encoding='utf-8') as f:
            return json.load(f)['sluice']['image-id'] or IMAGE
    except (OSError, ValueError, KeyError):
        return IMAGE


def program(number, *flags):
    """The command line that runs sluice beside sluiced, or where that is down in a container for once."""
    user = os.environ.get('SUDO_UID') or os.getuid()  # has a baseline of counters of their own
    flags += ('-e', 'SLUICE_SONIC_VERB=' + VERB, '-e', 'NAMESPACE_ID=' + number,
              '-e', 'SUDO_USER=' + os.environ.get('SUDO_USER', ''), '-e', 'XDG_CACHE_HOME=/var/lib/sluice/cache-{}'.format(user))
    there = subprocess.run(['docker', 'inspect', '--format', '{{.State.Running}}', 'sluice' + number],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if there.stdout.strip() == b'true':
        container = ['exec', *flags, 'sluice' + number]
    else:
        redis = '/var/run/redis' + number
        container = ['run', '--rm', '--pull', 'never', '--network', 'none', '-v', redis + ':' + redis, '-v', FOLDER + ':/var/lib/sluice', *flags, image()]
    return ['docker', *container, 'start.sh', 'sluice']


def reads_file(words):
    """Whether words are those of config load or diff, which alone read a FILE."""
    return VERB == 'config' and next((word for word in words if not word.startswith('-')), None) in ('load', 'diff')


def named_file(words):
    """The file of the host that a command reads, None where words name none."""
    found = [name for name in words if reads_file(words) and name not in ('load', 'diff') and os.path.exists(name)]
    return found[-1] if found else None


def call(number, words):
    """Runs the program with what it reads, and returns its exit code: standard input for a FILE of - and
    from a terminal, or the file, which the container does not see. The input of a script stays the script's."""
    name = named_file(words)
    if name:
        with open(name, 'rb') as source:
            return subprocess.call(program(number, '-i', '-e', 'SLUICE_SONIC_FILE=' + name) + words, stdin=source)
    if sys.stdin.isatty() and sys.stdout.isatty():
        return subprocess.call(program(number, '-i', '-t') + words)
    if '-' in words and reads_file(words):
        return subprocess.call(program(number, '-i') + words)
    return subprocess.call(program(number) + words, stdin=subprocess.DEVNULL)


def complete(words, begun):
    """What may follow words; a Tab reports no error."""
    try:
        number, words = instance(words)
        said = subprocess.run(program(number) + ['__completeNoDesc', *words, begun],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        return [word for word in said.stdout.decode(errors='replace').splitlines() if word.startswith(begun) and not word.startswith(':')]
    except (click.ClickException, OSError):
        return []


class Words(click.Argument):
    """The words behind `sluice`, with completion as click 7 and click 8 ask for it."""

    def __init__(self):
        super().__init__(['words'], nargs=-1)
        self.autocompletion = lambda ctx, args, incomplete: complete(ctx.args, incomplete)

    def shell_complete(self, ctx, incomplete):
        from click.shell_completion import CompletionItem
        return [CompletionItem(word) for word in complete(ctx.args, incomplete)]


class Face(click.Command):
    """A command whose words, flags and --help too, are the program's."""

    def parse_args(self, ctx, args):
        ctx.args, ctx.params['words'] = list(args), ()
        return []

    def shell_complete(self, ctx, incomplete):
        return self.params[0].shell_complete(ctx, incomplete)

    def invoke(self, ctx):
        number, words = instance(ctx.args)
        try:
            ctx.exit(call(number, words))
        except OSError as err:
            raise click.ClickException('{}: {}'.format(err.filename if err.filename in words else 'run docker', err.strerror))


def register(cli):
    """Called by SONiC's commands with their top group."""
    cli.add_command(Face('sluice', params=[Words()], add_help_option=False, help='Control of single RoCEv2 flows'))
