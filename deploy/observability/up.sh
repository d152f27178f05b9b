#!/usr/bin/env bash
# Prometheus on the stack of this machine, with the rules of deploy/prometheus, and Grafana with the dashboards of deploy/grafana where there is
# one; all on loopback.
#
#   deploy/observability/up.sh [OPTION...]    starts what is missing and prints the addresses; again after `kbench-client up` on another port
#     --metrics HOST:PORT      a coordinator's --metrics-listen (default: that of the stack that `kbench-client up` started)
#     --prometheus-port N      (default: 9090)
#     --grafana-port N         (default: 3000)
#     --no-wait                return before the first scrape, which may take 15 s
#   deploy/observability/up.sh status
#   deploy/observability/up.sh down           ends both; what they stored stays in the state folder
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

fail() {
  echo "up.sh: $1" >&2
  exit "${2:-1}"
}

# As the XDG specification has it: a relative path is ignored.
state_home=${XDG_STATE_HOME:-}
[[ $state_home == /* ]] || state_home=~/.local/state
data=$state_home/kbench
state=$data/observability

# fetch URL: prints what it answers; false where nothing does.
fetch() {
  python3 -c 'import sys, urllib.request as u
try: sys.stdout.buffer.write(u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=10).read())
except Exception: sys.exit(1)' "$1" 2>/dev/null
}

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.3
  done
}

# A daemon holds its pid file locked through an inherited descriptor for as long as it lives, so that no other process is ever taken for it.
runs() { [[ -f $state/$1.pid ]] && ! flock --nonblock "$state/$1.pid" true; }
gone() { ! runs "$1"; }

# launch NAME COMMAND...: in a session of its own, with its output in NAME.log.
launch() {
  local name=$1 lock
  shift
  exec {lock}>>"$state/$name.pid"
  flock --nonblock "$lock" || fail "$name is being started by another up.sh; wait for that one"
  setsid "$@" >>"$state/$name.log" 2>&1 </dev/null &
  echo $! >"$state/$name.pid"
  exec {lock}>&-
}

# came_up_or_ended NAME URL
came_up_or_ended() { fetch "$2" >/dev/null || gone "$1"; }

# wait_for NAME URL PORT-OPTION
wait_for() {
  if ! until_true 60 came_up_or_ended "$1" "$2" || gone "$1"; then
    tail -n 8 "$state/$1.log" | sed 's/^/  /' >&2
    fail "$1 did not come up; above is the end of $state/$1.log (a port that is taken: $3)"
  fi
}

stop() {
  local pid
  gone "$1" && return 1
  pid=$(<"$state/$1.pid")
  kill -TERM -- "$pid" 2>/dev/null || true
  if ! until_true 15 gone "$1"; then
    kill -KILL -- "$pid" 2>/dev/null || true
    until_true 5 gone "$1" || fail "$1 (pid $pid) does not end, not even by SIGKILL"
  fi
  rm -f "$state/$1.pid"
  echo "$1 stopped (pid $pid)"
}

# port_of NAME: that of the daemon that runs.
port_of() { cat "$state/$1.port" 2>/dev/null || true; }

# need_port OPTION PORT
need_port() { [[ $2 =~ ^[0-9]{1,5}$ && $((10#$2)) -ge 1 && $((10#$2)) -le 65535 ]] || fail "$1 $2: not a port; give one of 1 to 65535" 2; }

# claim_port NAME PORT OPTION: refuses one on which something else listens.
claim_port() {
  if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then
    fail "port $2, meant for $1, is taken by another process; give another one: $3 N"
  fi
  echo "$2" >"$state/$1.port"
}

# The address of /metrics: as given, else as the local coordinator noted it.
find_metrics() {
  local note=$data/server.json hint="start the stack with: kbench-client up"
  if [[ -z $metrics ]]; then
    [[ -f $note ]] || fail "no kbench runs here ($note is missing); $hint"
    metrics=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get("metrics", ""))' "$note" 2>/dev/null) ||
      fail "$note cannot be read; $hint, or give --metrics HOST:PORT"
    [[ -n $metrics ]] || fail "the coordinator serves no metrics; start it with --metrics-listen 127.0.0.1:7601"
    # It listens on all addresses: here it is asked on loopback.
    metrics=${metrics/#0.0.0.0:/127.0.0.1:}
    metrics=${metrics/#\[::\]:/[::1]:}
  fi
  [[ $metrics =~ ^[][A-Za-z0-9.:_-]+:[0-9]+$ ]] || fail "--metrics $metrics: not HOST:PORT" 2
  local text
  text=$(fetch "http://$metrics/metrics") || fail "nothing answers on http://$metrics/metrics; $hint, or give --metrics HOST:PORT"
  [[ $text == *kbench_build_info* ]] || fail "what answers on http://$metrics/metrics is not kbench; give --metrics HOST:PORT"
}

configure_prometheus() {
  cp "$root"/deploy/prometheus/{prometheus,recording,alerts}.yml "$state/prometheus/"
  # Moved into place: Prometheus reads it when it changes, and must not see half of it.
  printf -- '- targets: ["%s"]\n' "$metrics" >"$state/prometheus/targets.new"
  mv "$state/prometheus/targets.new" "$state/prometheus/targets.yml"
}

scraped() { [[ $(fetch "$url/api/v1/query?query=up%7Bjob%3D%22kbench%22%7D") == *"\"instance\":\"$metrics\""*',"1"]'* ]]; }

# page NAME: its address, which Debian's build, without the newer pages, has elsewhere.
page() { if fetch "$url/$1" >/dev/null; then echo "$url/$1"; else echo "$url/classic/$1"; fi; }

start_prometheus() {
  local program unpacked=$root/.cache/prometheus/usr pages=()
  program=$(PATH=$PATH:$unpacked/bin command -v prometheus) ||
    fail "there is no prometheus; install it (apt-get install prometheus), or run ./deploy/setup.sh test, which unpacks one into .cache"
  # Debian's looks for its pages where the package would put them; only Debian's knows this option.
  [[ $program != "$unpacked"/* ]] || pages=(--web.local-assets="$unpacked/share/prometheus/web/")
  mkdir -p "$state/prometheus"
  if runs prometheus; then
    configure_prometheus
    kill -HUP "$(<"$state/prometheus.pid")"
    [[ -z $prometheus_port || $prometheus_port == "$(port_of prometheus)" ]] ||
      echo "up.sh: Prometheus already runs on port $(port_of prometheus); for another one run: up.sh down" >&2
    prometheus_port=$(port_of prometheus)
  else
    prometheus_port=${prometheus_port:-9090}
    claim_port prometheus "$prometheus_port" --prometheus-port
    configure_prometheus
    launch prometheus "$program" --config.file="$state/prometheus/prometheus.yml" --storage.tsdb.path="$state/prometheus/data" \
      --storage.tsdb.retention.time=400d --storage.tsdb.retention.size=4GB --web.listen-address="127.0.0.1:$prometheus_port" "${pages[@]}"
  fi
  url=http://127.0.0.1:$prometheus_port
  wait_for prometheus "$url/-/ready" --prometheus-port
  echo "Prometheus  $url (pid $(<"$state/prometheus.pid")), scrapes http://$metrics/metrics every 15 s"
  echo "  rules     $(page rules)"
  echo "  alerts    $(page alerts)"
  # Scrapes are spread over the interval: the first one comes within it.
  [[ -n $no_wait ]] || until_true 40 scraped || fail "Prometheus runs, but has not scraped http://$metrics/metrics yet; $(page targets) says why"
}

# The folder with Grafana's own pages: beside its program, or where the packages put it.
grafana_home() {
  local candidate
  for candidate in "$(dirname "$(dirname "$(readlink -f "$1")")")" /usr/share/grafana; do
    if [[ -f $candidate/conf/defaults.ini ]]; then
      echo "$candidate"
      return
    fi
  done
  fail "$1 has no conf/defaults.ini beside it, nor is there one in /usr/share/grafana"
}

start_grafana() {
  local program home
  if ! program=$(command -v grafana-server); then
    echo "Grafana     not started: there is no grafana-server on the PATH; how to give the dashboards to another one: deploy/grafana/README.md"
    return
  fi
  if runs grafana; then
    grafana_port=$(port_of grafana)
  else
    home=$(grafana_home "$program")
    grafana_port=${grafana_port:-3000}
    claim_port grafana "$grafana_port" --grafana-port
    mkdir -p "$state/grafana"
    # Whoever reaches loopback may look; nobody can log in, so there is no password to set.
    launch grafana env KBENCH_PROMETHEUS_URL="$url" KBENCH_DASHBOARDS="$root/deploy/grafana/dashboards" \
      GF_SERVER_HTTP_ADDR=127.0.0.1 GF_SERVER_HTTP_PORT="$grafana_port" GF_PATHS_DATA="$state/grafana" GF_PATHS_LOGS="$state/grafana" \
      GF_PATHS_PLUGINS="$state/grafana/plugins" GF_PATHS_PROVISIONING="$root/deploy/grafana/provisioning" GF_LOG_MODE=console \
      GF_AUTH_ANONYMOUS_ENABLED=true GF_AUTH_ANONYMOUS_ORG_ROLE=Viewer GF_AUTH_DISABLE_LOGIN_FORM=true GF_AUTH_BASIC_ENABLED=false \
      GF_ANALYTICS_REPORTING_ENABLED=false GF_ANALYTICS_CHECK_FOR_UPDATES=false GF_PLUGINS_PREINSTALL_DISABLED=true \
      GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH="$root/deploy/grafana/dashboards/performance.json" "$program" --homepath "$home"
  fi
  wait_for grafana "http://127.0.0.1:$grafana_port/api/health" --grafana-port
  echo "Grafana     http://127.0.0.1:$grafana_port (pid $(<"$state/grafana.pid")), no login"
  local name
  for name in performance queue devices; do
    printf '  %-9s http://127.0.0.1:%s/d/kbench-%s\n' "$name" "$grafana_port" "$name"
  done
}

say_status() {
  local name found=1
  for name in prometheus grafana; do
    if runs "$name"; then
      echo "$name runs on http://127.0.0.1:$(port_of "$name") (pid $(<"$state/$name.pid"))"
      found=0
    fi
  done
  ((found == 0)) || echo "nothing runs"
  return "$found"
}

stop_all() {
  local found=1
  stop grafana && found=0
  stop prometheus && found=0
  ((found == 0)) || echo "nothing runs"
}

verb=up
if (($#)) && [[ $1 != -* ]]; then
  verb=$1
  shift
fi
metrics="" prometheus_port="" grafana_port="" no_wait=""
while (($#)); do
  [[ $1 != --help && $1 != -h ]] || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit; }
  if [[ $1 == --no-wait ]]; then
    no_wait=yes
    shift
    continue
  fi
  [[ $1 =~ ^--(metrics|prometheus-port|grafana-port)$ ]] || fail "unknown option '$1'; see: up.sh --help" 2
  (($# >= 2)) || fail "$1 wants a value" 2
  [[ $1 == --metrics ]] || need_port "$1" "$2"
  case $1 in
    --metrics) metrics=$2 ;;
    --prometheus-port) prometheus_port=$2 ;;
    --grafana-port) grafana_port=$2 ;;
  esac
  shift 2
done

case $verb in
  up)
    find_metrics
    mkdir -p "$state"
    start_prometheus
    start_grafana
    ;;
  status) say_status ;;
  down) stop_all ;;
  *) fail "unknown word '$verb'; use: up.sh [up|status|down]" 2 ;;
esac
