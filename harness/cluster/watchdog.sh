# The watchdog of one run directory. Standard input is a pipe whose other end only the owner holds: it reads "done" when
# the owner has cleaned up by itself, and ends without it when the owner is gone, however that came about.
trap '' HUP INT TERM PIPE
dir=$1

while read -r word; do
	[ "$word" = "done" ] && exit 0
done

# A process is ours, and not a stranger with a recycled number, while its command line names the directory. The command line is empty
# while the process becomes another program, and for good once it is a zombie, which its state tells.
alive() {
	if [ -r /proc/self/cmdline ]; then
		grep -qF -- "$dir" "/proc/$1/cmdline" 2>/dev/null && return 0
		grep -q . "/proc/$1/cmdline" 2>/dev/null && return 1
		stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
		case ${stat##*) } in
		Z* | X* | '') return 1 ;;
		esac
	else
		kill -0 "$1" 2>/dev/null
	fi
}

any_alive() {
	for file in "$dir"/closed/*; do
		alive "${file##*/}" && return 0
	done
	return 1
}

# From here on no launcher can register, so none can start its component.
mv "$dir/pids" "$dir/closed"

tries=0
while any_alive && [ "$tries" -lt 100 ]; do
	for file in "$dir"/closed/*; do
		pid=${file##*/}
		alive "$pid" && { kill -s KILL -- "-$pid" || kill -s KILL "$pid"; } 2>/dev/null
	done
	tries=$((tries + 1))
	sleep 0.1
done

# The nodes of a kind cluster are containers. They are removed until none has come for a while, because what was about to be
# started when the owner went comes later.
tries=0 quiet=0
while [ -f "$dir/containers" ] && [ "$quiet" -lt 3 ] && [ "$tries" -lt 100 ]; do
	quiet=$((quiet + 1))
	while read -r filter; do
		ids=$(docker ps --all --quiet --filter "$filter" </dev/null 2>/dev/null)
		[ -z "$ids" ] && continue
		quiet=0
		docker rm --force --volumes $ids </dev/null >/dev/null 2>&1
	done <"$dir/containers"
	tries=$((tries + 1))
	sleep 1
done

rm -rf -- "$dir"
