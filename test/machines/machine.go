// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func machineDir(dir, name string) string { return filepath.Join(dir, "machines", name) }

func (h *host) readMachine(r *http.Request) (any, error) {
	name := r.PathValue("name")
	m, err := read[machine](filepath.Join(machineDir(h.dir, name), "machine.json"))
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", name, err)
	}
	m.State = "stopped"
	if _, alive := h.firstProcess(name); alive {
		m.State = "running"
	}
	return m, nil
}

// putMachine makes a machine and starts it. It does not wait for what the machine does then.
func (h *host) putMachine(r *http.Request) (any, error) {
	var m machine
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	m.Name, m.State = r.PathValue("name"), ""
	if !strings.HasPrefix(m.UserData, "#cloud-config\n") {
		return nil, fmt.Errorf("%w: the user data of %s does not begin with #cloud-config", errInvalid, m.Name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := read[network](h.networkFile(m.Network))
	if err != nil {
		return nil, fmt.Errorf("machine %s: network %q: %w", m.Name, m.Network, err)
	}
	prefix := netip.MustParsePrefix(n.CIDR)
	if address, err := netip.ParseAddr(m.Address); err != nil || !prefix.Contains(address) || address == prefix.Addr() || address == prefix.Addr().Next() {
		return nil, fmt.Errorf("%w: the address %q of %s is not one for machines of %s", errInvalid, m.Address, m.Name, n.CIDR)
	}
	// What is left of a machine that has ended makes room: its first process cannot start again.
	if _, alive := h.firstProcess(m.Name); !alive {
		if err := h.removeMachine(r.Context(), m.Name); err != nil {
			return nil, err
		}
	}
	all, err := h.machines()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(o machine) bool { return o.Name == m.Name || o.Network == m.Network && o.Address == m.Address }); i >= 0 {
		return nil, fmt.Errorf("machine %s: %w: %s at %s", m.Name, errConflict, all[i].Name, all[i].Address)
	}
	// A request that is given up must not leave half a machine.
	ctx := context.WithoutCancel(r.Context())
	if err := h.create(ctx, m, prefix); err != nil {
		return nil, errors.Join(fmt.Errorf("make the machine %s: %w", m.Name, err), h.removeMachine(ctx, m.Name))
	}
	m.UserData, m.State = "", "running"
	return m, nil
}

func (h *host) create(ctx context.Context, m machine, prefix netip.Prefix) error {
	dir := machineDir(h.dir, m.Name)
	for _, sub := range []string{"etc/up", "etc/work", "usr-local/up/bin", "usr-local/work", "var/up/lib/rancher", "var/work", "data"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "user-data"), []byte(m.UserData), 0o600); err != nil {
		return err
	}
	onRecord := m
	onRecord.UserData = ""
	if err := write(filepath.Join(dir, "machine.json"), onRecord); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := filepath.Join(dir, "usr-local", "up", "bin")
	for name, from := range map[string]string{"k3s": self, "systemctl": self, "pause": self, "probe": self, "local-machines": self, "kube-node": h.kubeNode} {
		if err := linkOrCopy(from, filepath.Join(programs, name)); err != nil {
			return err
		}
	}
	if err := h.giveImages(dir); err != nil {
		return err
	}
	if err := h.addCgroups(m.Name); err != nil {
		return err
	}
	if err := h.plug(ctx, m, prefix); err != nil {
		return err
	}
	return h.start(m, self)
}

// giveImages puts archives of images where k3s looks for them, as on machines without a registry.
func (h *host) giveImages(dir string) error {
	if h.images == "" {
		return nil
	}
	archives, err := filepath.Glob(filepath.Join(h.images, "*.tar"))
	if err != nil {
		return err
	}
	place := filepath.Join(dir, "data", strings.TrimPrefix(imagesDir, "/var/lib/rancher/"))
	if err := os.MkdirAll(place, 0o755); err != nil {
		return err
	}
	for _, archive := range archives {
		if err := linkOrCopy(archive, filepath.Join(place, filepath.Base(archive))); err != nil {
			return err
		}
	}
	return nil
}

func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// start starts the first process of a machine in new namespaces. nsenter keeps the mounts, which "ip netns exec"
// does not.
func (h *host) start(m machine, self string) error {
	dir := machineDir(h.dir, m.Name)
	console, err := os.OpenFile(filepath.Join(dir, "console.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer console.Close() //nolint:errcheck // the child has its own descriptor
	cmd := exec.Command("nsenter", "--net=/run/netns/"+h.namespace(m.Name), self, "boot", dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", console, console
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "MACHINE_CGROUP=/" + h.namespace(m.Name)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // it only must not stay a zombie
	mark, err := markOf(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("its first process ended at once: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "pid"), fmt.Appendf(nil, "%d %s", cmd.Process.Pid, mark), 0o600)
}

// markOf identifies a process by the machine's boot and its own start, as its number may be given away.
func markOf(pid int) (string, error) {
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return strings.TrimSpace(string(bootID)) + " " + fields[19], nil
}

// firstProcess is the number of a machine's first process, and whether it lives.
func (h *host) firstProcess(name string) (int, bool) {
	text, err := os.ReadFile(filepath.Join(machineDir(h.dir, name), "pid"))
	if err != nil {
		return 0, false
	}
	number, mark, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 {
		return 0, false
	}
	now, err := markOf(pid)
	return pid, err == nil && now == mark
}

func (h *host) deleteMachine(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return nil, h.removeMachine(context.WithoutCancel(r.Context()), r.PathValue("name"))
}

// removeMachine removes a machine, or what is left of it. The record goes last.
func (h *host) removeMachine(ctx context.Context, name string) error {
	if pid, alive := h.firstProcess(name); alive {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the machine %s: %w", name, err)
		}
	}
	deadline := time.Now().Add(time.Minute)
	for {
		_, alive := h.firstProcess(name)
		err := h.removeCgroups(name) // busy until the last process has ended
		if !alive && err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("end the machine %s: it still has processes: %w", name, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := h.unplug(ctx, name); err != nil {
		return err
	}
	return os.RemoveAll(machineDir(h.dir, name))
}
