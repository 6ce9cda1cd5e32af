// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

func init() {
	parts["admit"], parts["isolate"], parts["reach"] = admit, isolate, reach
}

// relayName is the relay's program.
const relayName = "yuba-network"

// admit replaces the device for tunnels by one of another mode, in its own view of the files, and
// becomes the user.
func admit(s scene) error {
	runtime.LockOSThread()
	node := filepath.Join(s.Dir, "tun")
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the machine's mounts: %w", err)
	}
	if err := errors.Join(unix.Mknod(node, unix.S_IFCHR|s.Device, int(unix.Mkdev(10, 200))), unix.Chmod(node, s.Device)); err != nil {
		return fmt.Errorf("create a device: %w", err)
	}
	if err := unix.Mount(node, "/dev/net/tun", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show the device: %w", err)
	}
	if s.Resolver != "" {
		if err := bindResolver(s.Resolver); err != nil {
			return err
		}
	}
	if s.ModeUser != 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(s.ModeUser), syscall.Setuid(s.ModeUser)); err != nil {
			return fmt.Errorf("become the user: %w", err)
		}
	}
	return syscall.Exec("/proc/self/exe", os.Args[:1], s.environment("become"))
}

// targets are what a program with a network of its own tries to reach.
type targets struct {
	// Loopback and Own are ports on loopback and on an address of this machine, Allowed one on
	// loopback that an entry names, OwnAllowed one on the machine's address.
	Loopback, Allowed    int
	Own, OwnAllowed      int
	OwnAddress, Abstract string
	// OwnAllowed6 is on an address of IPv6, Echo returns datagrams; both are named.
	OwnAllowed6, Echo string
}

// ownAddress is an address of this machine that is not special in itself.
func ownAddress() string { return ownAddressOf(netip.Addr.Is4) }

func ownAddressOf(version func(netip.Addr) bool) string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && version(p.Addr()) && network.Special(p.Addr(), false) == "" {
			return p.Addr().String()
		}
	}
	return ""
}

// unserved is a port that only root may listen on.
const unserved = "127.0.0.1:4"

// isolation is what came of a program with a network of its own.
type isolation struct {
	Walls    Walls
	NoTunnel string
	Outcomes []trial
	Report   string
	Problem  string
	Seconds  float64
}

// trial is one attempt of the program.
type trial struct {
	Name, Error string
	Seconds     float64
	Refused     bool
}

// isolate starts a program with a network of its own, beside servers that it must not reach.
func isolate(s scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	walls, cell, err := enter(ctx, s, "isolated")
	if err != nil {
		return err
	}
	result := isolation{Walls: walls}
	if err := walls.ProbeTunnel(ctx); err != nil {
		result.NoTunnel = err.Error()
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	own := ownAddress()
	ports := map[string]int{}
	for name, address := range map[string]string{"loopback": "127.0.0.1:0", "allowed": "127.0.0.1:0", "own": own + ":0", "ownAllowed": own + ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go greet(l, name)
		ports[name] = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert,errcheck // of a TCP listener
	}
	more, err := furtherTargets(own)
	if err != nil {
		return err
	}
	abstract := fmt.Sprintf("@yuba-tunnel-test-%d", os.Getpid())
	if _, err := net.Listen("unix", abstract); err != nil {
		return err
	}
	report, err := os.OpenFile(filepath.Join(s.Dir, "report"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.Targets = targets{Loopback: ports["loopback"], Allowed: ports["allowed"], Own: ports["own"], OwnAllowed: ports["ownAllowed"], OwnAddress: own, Abstract: abstract, OwnAllowed6: more.OwnAllowed6, Echo: more.Echo}
	allowed := fmt.Sprintf("127.0.0.1:%d", ports["allowed"])
	cell.NoNetwork = true
	cell.Relay = &Relay{Report: report, Forwards: []string{allowed, unserved}, Allow: append(s.Allow, allowed, unserved, fmt.Sprintf("%s:%d", own, ports["ownAllowed"]), more.Echo+"/udp")}
	if more.OwnAllowed6 != "" {
		cell.Relay.Allow = append(cell.Relay.Allow, more.OwnAllowed6)
	}
	cell.Readable = append(cell.Readable, "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/run/systemd/resolve")
	cmd := walls.Command(ctx, cell, s.Self)
	cmd.Env = append(s.environment("reach"), "HOME="+walls.HomeOf(cell), "TMPDIR="+walls.TempOf(cell))
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	began := time.Now()
	done, err := walls.StartRelay(cell, cmd)
	if err != nil {
		return err
	}
	running, err := Start(cmd)
	done()
	if err != nil {
		return err
	}
	if err := running.Wait(10 * time.Second); err != nil {
		result.Problem = err.Error() + "\n"
	}
	result.Seconds = time.Since(began).Seconds()
	result.Problem += problem.String()
	if err := awaitThat("the relay ends with the program", func() bool { return !relayRuns(filepath.Dir(s.Sandbox) + "/" + relayName) }); err != nil {
		result.Problem += err.Error()
	}
	decoder := json.NewDecoder(&out)
	for decoder.More() {
		var r trial
		if err := decoder.Decode(&r); err != nil {
			return err
		}
		result.Outcomes = append(result.Outcomes, r)
	}
	text, err := os.ReadFile(report.Name())
	result.Report = string(text)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(result))
}

// furtherTargets are a server of IPv6, if the machine has an address, and one that returns datagrams.
func furtherTargets(own string) (all targets, err error) {
	if six := ownAddressOf(netip.Addr.Is6); six != "" {
		l, err := net.Listen("tcp", net.JoinHostPort(six, "0"))
		if err != nil {
			return all, err
		}
		go greet(l, "six")
		all.OwnAllowed6 = l.Addr().String()
	}
	echo, err := net.ListenPacket("udp", net.JoinHostPort(own, "0"))
	if err != nil {
		return all, err
	}
	go func() {
		piece := make([]byte, 2048)
		for {
			n, from, err := echo.ReadFrom(piece)
			if err != nil {
				return
			}
			_, _ = echo.WriteTo(piece[:n], from)
		}
	}()
	all.Echo = echo.LocalAddr().String()
	return all, nil
}

// relayRuns reports whether a relay is among the children of this process.
func relayRuns(program string) bool {
	for _, pid := range childrenOf(os.Getpid()) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(string(line), program) {
			return true
		}
	}
	return false
}

// greet says a word to each connection.
func greet(l net.Listener, word string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprint(conn, word)
		conn.Close()
	}
}

// hear connects and reads a word.
func hear(address string) error {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	word := make([]byte, 16)
	n, err := conn.Read(word)
	if n > 0 {
		return nil
	}
	return err
}

// try is one attempt of the program. It must work, or be refused at once.
type try struct {
	name  string
	works bool
	do    func(s scene) error
}

var tries = []try{
	{"a port of loopback that an entry names", true, func(s scene) error { return hear(fmt.Sprintf("127.0.0.1:%d", s.Targets.Allowed)) }},
	{"an address of this machine that an entry names", true, func(s scene) error {
		return hear(fmt.Sprintf("%s:%d", s.Targets.OwnAddress, s.Targets.OwnAllowed))
	}},
	{"the same, by its name", true, func(s scene) error {
		return hear(fmt.Sprintf("%s.at.test:%d", strings.ReplaceAll(s.Targets.OwnAddress, ".", "-"), s.Targets.OwnAllowed))
	}},
	{"an address of IPv6 that an entry names", true, func(s scene) error {
		if s.Targets.OwnAllowed6 == "" { // this machine has none
			return nil
		}
		return hear(s.Targets.OwnAllowed6)
	}},
	{"datagrams that an entry names", true, func(s scene) error {
		conn, err := net.Dial("udp", s.Targets.Echo)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("word")); err != nil {
			return err
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		return ok(conn.Read(make([]byte, 16)))
	}},
	{"the resolver, over TCP", true, func(s scene) error {
		resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}}
		return ok(resolver.LookupHost(context.Background(), strings.ReplaceAll(s.Targets.OwnAddress, ".", "-")+".at.test"))
	}},
	{"another port of the resolver", false, func(scene) error { return hear("198.18.0.1:80") }},
	{"a server on loopback", false, func(s scene) error { return hear(fmt.Sprintf("127.0.0.1:%d", s.Targets.Loopback)) }},
	{"a privileged port of loopback that an entry names, and nobody serves", false, func(scene) error { return hear(unserved) }},
	{"a server on loopback, by another address of it", false, func(s scene) error { return hear(fmt.Sprintf("127.1.2.3:%d", s.Targets.Allowed)) }},
	{"a server on loopback, by IPv6", false, func(s scene) error { return hear(fmt.Sprintf("[::1]:%d", s.Targets.Loopback)) }},
	{"a server on loopback, by an address of IPv6 that embeds it", false, func(s scene) error { return hear(fmt.Sprintf("[64:ff9b::127.0.0.1]:%d", s.Targets.Loopback)) }},
	{"a server on all addresses, by that of no machine", false, func(s scene) error { return hear(fmt.Sprintf("0.0.0.0:%d", s.Targets.Loopback)) }},
	{"a server on an address of this machine", false, func(s scene) error { return hear(fmt.Sprintf("%s:%d", s.Targets.OwnAddress, s.Targets.Own)) }},
	{"the metadata service", false, func(scene) error { return hear("169.254.169.254:80") }},
	{"the metadata service, by IPv6", false, func(scene) error { return hear("[fd00:ec2::254]:80") }},
	{"the metadata service, by an address of IPv6 that embeds it", false, func(scene) error { return hear("[64:ff9b::169.254.169.254]:80") }},
	{"a name that leads to loopback", false, func(s scene) error { return hear(fmt.Sprintf("loopback.test:%d", s.Targets.Loopback)) }},
	{"a name that leads to metadata services", false, func(scene) error { return hear("metadata.test:80") }},
	{"a name that does not exist", false, func(scene) error { return hear("nowhere.test:80") }},
	{"an abstract socket of the machine", false, func(s scene) error { return ok(net.Dial("unix", s.Targets.Abstract)) }},
	{"datagrams", false, func(s scene) error {
		conn, err := net.Dial("udp", "192.0.2.77:123")
		if err != nil {
			return err
		}
		defer conn.Close()
		for range 3 { // the refusal comes after the first
			if _, err := conn.Write([]byte("x")); err != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	}},
	{"packets of its own making", false, func(scene) error { return ok(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)) }},
	{"packets below IP", false, func(scene) error { return ok(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) }},
	{"the address of another machine as its own", false, func(s scene) error {
		dialer := net.Dialer{Timeout: 2 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7)}, Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) }), err)
		}}
		conn, err := dialer.Dial("tcp", net.JoinHostPort(s.Targets.OwnAddress, strconv.Itoa(s.Targets.OwnAllowed)))
		if err == nil {
			conn.Close()
		}
		return err
	}},
	{"another tunnel", false, func(scene) error { return ok(os.OpenFile("/dev/net/tun", os.O_RDWR, 0)) }},
	{"the socket to the relay", false, func(scene) error { return ok(unix.Write(3, []byte{1})) }},
	{"the interface of the tunnel", false, func(scene) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq("yuba0")
		if err != nil {
			return err
		}
		request.SetUint16(0)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}},
	{"the machine's resolver", false, func(scene) error { return ok(net.Dial("unix", "/run/systemd/resolve/io.systemd.Resolve")) }},
}

// slow are the attempts that need not fail at once: nothing answers a foreign address.
var slow = []string{"the address of another machine as its own"}

// reach tries everything.
func reach(s scene) error {
	out := json.NewEncoder(os.Stdout)
	for _, a := range tries {
		began := time.Now()
		err := a.do(s)
		r := trial{Name: a.name, Seconds: time.Since(began).Seconds(), Refused: err != nil}
		if err != nil {
			r.Error = err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// TestIsolatedNetworks has a program try to leave its network, in every mode. Where the machine has no
// namespaces, or no tunnels for this user, it says so.
func TestIsolatedNetworks(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		var got isolation
		if err := json.Unmarshal([]byte(inMode(t, m, "isolate", scene{Dir: sceneDir(t, m), Device: everybodys, Allow: []string{"*"}})), &got); err != nil {
			t.Fatal(err)
		}
		if !m.want.Alone() {
			if !strings.Contains(got.NoTunnel, "it requires namespaces, which this machine does not support") {
				t.Errorf("a tunnel without namespaces: %+v", got)
			}
			return
		}
		if os.Geteuid() != 0 && strings.Contains(got.NoTunnel, noDevice) {
			t.Skip("this user cannot have tunnels: " + got.NoTunnel)
		}
		if got.NoTunnel != "" || len(got.Outcomes) != len(tries) {
			t.Fatalf("%+v", got)
		}
		for i, a := range tries {
			o := got.Outcomes[i]
			if o.Refused == a.works {
				t.Errorf("%s: %q, it must work: %v", a.name, o.Error, a.works)
			}
			if o.Seconds > 1 && !slices.Contains(slow, a.name) {
				t.Errorf("%s: it took %.1f s", a.name, o.Seconds)
			}
		}
		for _, part := range []string{
			"the network of runs does not allow 169.254.169.254:80, which is link-local, multicast or a metadata service. Special addresses need an entry of their own",
			"the network of runs does not allow metadata.test (169.254.169.254), which is link-local, multicast or a metadata service. Special addresses need an entry of their own",
			"the network of runs does not allow 192.0.2.77:123/udp. To allow it: --run-network-allow '192.0.2.77:123/udp'",
			", which is an address of this machine. Special addresses need an entry of their own",
		} {
			if !strings.Contains(got.Report, part) {
				t.Errorf("no %q in\n%s", part, got.Report)
			}
		}
		for line := range strings.Lines(got.Report) {
			if !network.IsNotice(line) {
				t.Errorf("the report has %q", line)
			}
		}
		if got.Problem != "" {
			t.Error(got.Problem)
		}
	})
}

// Modes of the device for tunnels: that of most distributions, and one for root only.
const (
	everybodys = 0o666
	roots      = 0o600
)

// noDevice begins the reason where a user may not open the device.
const noDevice = "open /dev/net/tun: "

// Without the device, there is no program rather than one with the machine's network.
func TestAUserWithoutTunnels(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the device")
	}
	for _, m := range modes {
		if m.name != "a user" {
			continue
		}
		var got isolation
		if err := json.Unmarshal([]byte(inMode(t, m, "isolate", scene{Dir: sceneDir(t, m), Device: roots})), &got); err != nil {
			t.Fatal(err)
		}
		if want := noDevice + "permission denied. Yuba's user must be able to open /dev/net/tun"; !strings.HasPrefix(got.NoTunnel, want) {
			t.Errorf("%q, want %q", got.NoTunnel, want)
		}
	}
}
