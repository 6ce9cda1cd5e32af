// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// hostile tries to read the paths in paths.txt in every way that a program can. None of them is its
// own, except the list itself, which shows that the attempts work. An output and the file loot in
// its directory contain the results.
const hostile = `
locals {
  paths = split("\n", trimspace(file("${path.module}/paths.txt")))
}
output "got" {
  value = concat(
    [for p in local.paths : "file ${p}" if can(filebase64(p))],
    [for p in local.paths : "hash ${p}" if can(filesha256(p))],
    [for p in local.paths : "template ${p}" if can(templatefile(p, {}))],
    [for p in local.paths : "list ${p}" if try(length(fileset(dirname(p), "*")), 0) > 0],
  )
}
variable "data" { type = string }
variable "pids" { type = list(number) }
variable "ports" { type = list(number) }
resource "terraform_data" "shell" {
  provisioner "local-exec" {
    command = <<-EOT
      exec >loot 2>/dev/null
      while read -r p; do
        head -c 1 "$p" >/dev/null && echo "read $p"
        (: >>"$p") && echo "write $p"
        ln "$p" stolen && echo "link $p"; rm -f stolen
        touch "$(dirname "$p")/planted" && echo "plant $p"; rm -f "$(dirname "$p")/planted"
      done <paths.txt
      find ${var.data} .. ../../victim -type f
      find / -name '*.agekey' -o -name connection.json -o -name 'kubeconfig'
      for pid in ${join(" ", var.pids)}; do
        for signal in 0 TERM KILL; do kill -$signal $pid && echo "signal $signal to $pid"; done
      done
      for port in ${join(" ", var.ports)}; do
        for path in / /run/v1/poll /v2/keys /api/v1/secrets; do
          timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET $path HTTP/1.0\r\n\r\n' >&3; head -c 4000 <&3" >>talk
          curl -sk -m 2 "https://127.0.0.1:$port$path" >>talk
        done
      done
      true
    EOT
  }
}
`

// prey is the stack whose apply is active while the hostile one runs: its spool has tokens, its
// directory values.
const prey = gated + `
variable "loot" { type = string }
resource "terraform_data" "loot" { input = var.loot }
`

const loot = "LOOT-of-another-tenant"

func TestHostileProgramGetsNothing(t *testing.T) {
	t.Parallel()
	y := alone(t, "--concurrency", "2")
	info, err := y.content(t).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(info.Walls, "namespaces") && !strings.Contains(info.Walls, "Landlock") {
		unconfinedIsSaid(t, y)
		return
	}
	ns, victims := y.namespace(t), y.namespace(t)
	victim := inline(victims, "victim", prey, auto, varsFrom("Secret", "victim"), outputsTo("out"))
	y.create(t, secretOf(victims, "victim", map[string]string{"loot": loot}), victim)
	reached, open := y.gate(victim)
	awaitFile(t, reached)
	server, runner := y.cmd.Process.Pid, y.runnerPID(t)
	marks := y.lootMarks(t)
	paths := append(y.forbiddenPaths(t), "paths.txt", fmt.Sprintf("../../../%s/victim/src/%s", victims, "terraform.tfstate"))
	ports := listening(t, server, runner)

	obj := inline(ns, "hostile", hostile, auto, outputsTo("got"), variable("data", y.dir), variable("pids", y.processes("")), variable("ports", ports),
		func(o *infrav1.Terraform) { o.Spec.Inline["paths.txt"] = strings.Join(paths, "\n") + "\n" })
	y.create(t, obj)
	y.await(t, obj, "it has done its worst", ready)

	var got []string
	if err := json.Unmarshal(y.secret(t, ns, "got")["got"], &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"file paths.txt", "hash paths.txt", "template paths.txt", "list paths.txt"}, got); diff != "" {
		t.Errorf("functions got (-want +got):\n%s", diff)
	}
	own := filepath.Join(y.dir, "work", ns, "hostile")
	source := filepath.Join(own, "src")
	want := []string{"read paths.txt", "write paths.txt", "link paths.txt", "plant paths.txt"}
	// In its own file tree, it can list only the directories above its own files.
	listed := slices.DeleteFunc(strings.Split(strings.TrimSpace(readFile(t, filepath.Join(source, "loot"))), "\n"), func(line string) bool {
		return strings.HasPrefix(line, own+"/") || strings.HasPrefix(line, "../src/") || line == "../tofu.rc"
	})
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("the shell got (-want +got):\n%s", diff)
	}
	talk := readFile(t, filepath.Join(source, "talk"))
	if talk == "" {
		t.Error("the shell talked to nobody")
	}
	for _, mark := range marks {
		if strings.Contains(talk+string(y.state(t, obj)), mark) {
			t.Errorf("it got %.20q…", mark)
		}
	}
	for _, pid := range []int{server, runner} {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("process %d was killed", pid)
		}
	}
	touch(t, open)
	y.await(t, victim, "it is ready, too", ready)
	y.letsNobodyIn(t, ports, victims)
}

// unconfinedIsSaid checks that Yuba reports confinement that the kernel does not support.
func unconfinedIsSaid(t *testing.T, y *yuba) {
	t.Helper()
	ns := y.namespace(t)
	obj := inline(ns, "unconfined", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	runs, err := y.content(t).Runs(t.Context(), ns, obj.Name, 1)
	if err != nil || len(runs.Items) != 1 {
		t.Fatalf("runs: %v %v", runs, err)
	}
	if r := runs.Items[0].Result; r.Confined || !strings.Contains(strings.Join(r.Warnings, "\n"), "unconfined") {
		t.Errorf("the run does not say that it was not confined: %+v", r)
	}
}

// lootMarks are texts that a program must not be able to read.
func (y *yuba) lootMarks(t *testing.T) []string {
	t.Helper()
	var c run.Connection
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(y.dir, "runner", run.ConnectionFile))), &c); err != nil {
		t.Fatal(err)
	}
	return []string{loot, c.Credential, "AGE-SECRET-KEY-", "PRIVATE KEY-----"}
}

// forbiddenPaths are all files of the data directory, and the files of the processes in /proc.
func (y *yuba) forbiddenPaths(t *testing.T) []string {
	t.Helper()
	var paths []string
	wanted := map[string]bool{"kubeconfig": false, "connection.json": false, "blob.agekey": false, "db": false, "terraform.tfstate": false, "generated.auto.tfvars.json": false}
	err := filepath.WalkDir(y.dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			paths = append(paths, name)
			if _, ok := wanted[entry.Name()]; ok {
				wanted[entry.Name()] = true
			}
		}
		return nil //nolint:nilerr // it has gone meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range wanted {
		if !there {
			t.Errorf("there is no %s to steal", name)
		}
	}
	for _, pid := range y.processes("") {
		for _, what := range []string{"environ", "maps", "mem", "fd/0", "cwd/kubeconfig", "root/etc/shadow"} {
			paths = append(paths, fmt.Sprintf("/proc/%d/%s", pid, what))
		}
	}
	return append(paths, "/etc/shadow", "/proc/self/environ", "/proc/1/environ", "/dev/mem")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listening finds the TCP ports on which processes listen.
func listening(t *testing.T, pids ...int) []int {
	t.Helper()
	sockets := map[string]bool{}
	for _, pid := range pids {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) //nolint:errcheck // the pattern is good
		for _, link := range links {
			target, _ := os.Readlink(link) //nolint:errcheck // it was closed meanwhile
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var ports []int
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) //nolint:errcheck // there may be no IPv6
		for line := range strings.Lines(string(text)) {
			// Fields: local address, remote address, state (0A listens), …, inode.
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !sockets[f[9]] {
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseInt(hex, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			ports = append(ports, int(port))
		}
	}
	if len(ports) < 3 {
		t.Errorf("only %v listen; etcd, API, run endpoint and web page should", ports)
	}
	return ports
}

// letsNobodyIn sends requests without credentials to every port.
func (y *yuba) letsNobodyIn(t *testing.T, ports []int, victims string) {
	t.Helper()
	private := []string{"/run/v1/poll", "/run/v1/runs/x", "/v2/keys", "/v3/kv/range", "/metrics", "/debug/pprof/", "/api/v1/secrets",
		"/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms", content.PathPrefix + "/namespaces/" + victims + "/terraforms/victim/state",
		content.PathPrefix + "/backup", content.PathPrefix + "/server"}
	for _, port := range ports {
		for _, scheme := range []string{"http", "https"} {
			for _, path := range private {
				for _, method := range []string{"GET", "POST"} {
					where := fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, port, path)
					if status, body := knock(t, method, where); status >= 200 && status < 300 {
						t.Errorf("%s %s: %d %.100s", method, where, status, body)
					}
				}
			}
		}
	}
}
