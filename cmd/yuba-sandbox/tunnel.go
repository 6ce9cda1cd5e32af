// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tunnel is the only way out of a new network namespace. This process creates it, and hands its
// descriptor to the relay, yuba-network, which decides where the program's connections lead. The
// relay needs no rights in the namespace, and the program cannot change the tunnel.

const (
	tunnelDevice = "/dev/net/tun"
	tunnelName   = "yuba0"
	// relayFD is the socket to the relay, the first file after the standard ones.
	relayFD = 3
	// tunnelMTU is also the relay's.
	tunnelMTU = 65520
)

// The addresses of the program and of the resolver, which the relay is. Nothing in real networks has
// them: 198.18.0.0/15 is for tests of networks.
var (
	tunnelAddress  = [4]byte{198, 18, 0, 2}
	tunnelMask     = [4]byte{255, 255, 255, 252}
	tunnelAddress6 = [16]byte{0xfd, 0x79, 0x75, 0x62, 0x61, 15: 2}
)

const resolverAddress = "198.18.0.1"

// resolverFile names the relay as the resolver. Names are not completed, because the list of allowed
// names has whole ones; the dot keeps the C library from completing them with the machine's domain.
const (
	resolverFile = "/etc/resolv.conf"
	resolverText = "nameserver " + resolverAddress + "\nsearch .\n"
	// The machine's own names are for the relay, which knows what names are allowed.
	hostsFile = "/etc/hosts"
	hostsText = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	// resolverDir has sockets by which programs would ask the machine's resolver.
	resolverDir = "/run/systemd/resolve"
)

// startTunnel creates the tunnel, if there is to be one.
func (o *options) startTunnel() error {
	switch {
	case !o.tunnel:
		return nil
	case o.probe:
		return probeTunnel()
	}
	return o.handOver()
}

// handOver creates the tunnel and the listening sockets, and sends them to the relay.
func (o *options) handOver() error {
	tunnel, err := openTunnel()
	if err != nil {
		return err
	}
	defer unix.Close(tunnel) //nolint:errcheck // the relay has its own
	self, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("name this process to the relay: %w", err)
	}
	defer unix.Close(self)                         //nolint:errcheck // the relay has its own
	message, fds := []byte{1}, []int{tunnel, self} // a message must not be empty
	for i, to := range o.forwards {
		fd, err := listen(to)
		if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) { // a machine without IPv6
			continue
		}
		if err != nil {
			return fmt.Errorf("listen on %s for the relay: %w", to, err)
		}
		defer unix.Close(fd) //nolint:errcheck // the relay has its own
		message, fds = append(message, byte(i)), append(fds, fd)
	}
	if err := unix.Sendmsg(relayFD, message, unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("hand the tunnel to the relay: %w", err)
	}
	return nil
}

// relayPatience is how many seconds the relay may take to start, on a machine that is very busy.
const relayPatience = 60

// awaitRelay waits until the relay serves the tunnel.
func awaitRelay() error {
	unix.CloseOnExec(relayFD) // the program must not get it, and kernels before 5.11 cannot mark all files at once
	if err := unix.SetsockoptTimeval(relayFD, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: relayPatience}); err != nil {
		return fmt.Errorf("wait for the relay: %w", err)
	}
	var answer [1]byte
	for {
		n, err := unix.Read(relayFD, answer[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the relay: %w", err)
		case n == 0:
			return errors.New("the relay of the network ended before the program began")
		default:
			return nil
		}
	}
}

// openTunnel creates the interface, with addresses and routes.
func openTunnel() (int, error) {
	fd, err := unix.Open(tunnelDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", tunnelDevice, err)
	}
	request, err := unix.NewIfreq(tunnelName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		err = configure()
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // it is not used
		return 0, fmt.Errorf("create a tunnel: %w", err)
	}
	return fd, nil
}

// configure enables the interface.
func configure() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only asked through
	for _, step := range []struct {
		call uint
		set  func(*unix.Ifreq)
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) { _ = r.SetInet4Addr(tunnelAddress[:]) }}, // four bytes
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) { _ = r.SetInet4Addr(tunnelMask[:]) }},
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(tunnelMTU) }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING) }},
	} {
		request, err := unix.NewIfreq(tunnelName)
		if err != nil {
			return err
		}
		step.set(request)
		if err := unix.IoctlIfreq(fd, step.call, request); err != nil {
			return err
		}
	}
	if err := addRoute(fd); err != nil {
		return err
	}
	return configure6()
}

// addRoute leads everything into the tunnel.
func addRoute(fd int) error {
	name := append([]byte(tunnelName), 0)
	route := struct { // struct rtentry
		_          uintptr
		to, via    unix.RawSockaddrInet4
		mask       unix.RawSockaddrInet4
		flags      uint16
		_          int16
		_, _       uintptr
		metric     int16
		dev        unsafe.Pointer
		mtu, width uintptr
		_          uint16
	}{flags: unix.RTF_UP, dev: unsafe.Pointer(&name[0])}
	route.to.Family, route.mask.Family = unix.AF_INET, unix.AF_INET
	return control(fd, unix.SIOCADDRT, unsafe.Pointer(&route))
}

// configure6 does the same for IPv6, if the kernel has it.
func configure6() error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only asked through
	request, err := unix.NewIfreq(tunnelName)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request); err != nil {
		return err
	}
	index := request.Uint32()
	address := struct { // struct in6_ifreq
		address [16]byte
		length  uint32
		index   int32
	}{tunnelAddress6, 126, int32(index)} //nolint:gosec // it is small
	err = control(fd, unix.SIOCSIFADDR, unsafe.Pointer(&address))
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EADDRNOTAVAIL) { // switched off (disable_ipv6)
		return nil
	}
	if err != nil {
		return err
	}
	route := struct { // struct in6_rtmsg
		to, from, via      [16]byte
		kind               uint32
		toLength, fromSize uint16
		metric             uint32
		_                  uintptr
		flags              uint32
		index              int32
	}{metric: 1, flags: unix.RTF_UP, index: int32(index)} //nolint:gosec // it is small
	return control(fd, unix.SIOCADDRT, unsafe.Pointer(&route))
}

func control(fd int, request uint, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(argument)); errno != 0 { //nolint:gosec // descriptors are not negative
		return errno
	}
	return nil
}

// listen opens a listening socket in the new namespace.
func listen(to netip.AddrPort) (int, error) {
	var family int
	var address unix.Sockaddr
	if to.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	} else {
		family, address = unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // it is not used
	}
	return fd, err
}

// probeTunnel creates a tunnel for nobody.
func probeTunnel() error {
	fd, err := openTunnel()
	if err == nil {
		unix.Close(fd) //nolint:errcheck // the interface goes with it
	}
	return err
}

// startRelay starts the relay of a program that this process starts for a person's shell, and returns
// the program's end of the socket. Refusals go to standard error. The relay has its own session, so
// that Ctrl-C does not end it before the program.
func startRelay(command []string) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("start the relay: %w", err)
	}
	attr := &syscall.ProcAttr{Dir: "/", Files: []uintptr{uintptr(pair[1]), 2, 2}, Env: relayEnvironment(), Sys: &syscall.SysProcAttr{Setsid: true}} //nolint:gosec // descriptors are not negative
	relay, err := syscall.ForkExec(command[0], command, attr)
	unix.Close(pair[1]) //nolint:errcheck // the relay has its own
	if err != nil {
		return 0, fmt.Errorf("start the relay: %w", err)
	}
	go watchRelay(relay)
	return pair[0], nil
}

// watchRelay says why connections hang if the relay ends before the program. The relay exits with 0
// only after the program.
func watchRelay(relay int) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(relay, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && (status.Signaled() || status.ExitStatus() != 0):
			fmt.Fprintln(os.Stderr, "the network of this run ended: yuba-network stopped before the program. Open connections hang until they time out, and new ones fail")
		}
		return
	}
}
