// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
)

// ListenError explains why Yuba cannot listen on the API's address.
type ListenError struct {
	Address string
	cause   error
}

func (e *ListenError) Error() string {
	switch {
	case errors.Is(e.cause, syscall.EADDRINUSE):
		return fmt.Sprintf("cannot listen on %s: address already in use. Another Yuba or program uses it: "+
			"choose another with --api-address", e.Address)
	case errors.Is(e.cause, syscall.EADDRNOTAVAIL):
		return fmt.Sprintf("cannot listen on %s: this machine does not have that address. Choose another with --api-address", e.Address)
	default:
		return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.cause)
	}
}

func (e *ListenError) Unwrap() error { return e.cause }

func listen(address string) (*net.TCPListener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &ListenError{Address: address, cause: err}
	}
	return listener.(*net.TCPListener), nil
}

// reachable returns an address at which a client on this machine reaches the listener. The listener
// may listen on all addresses.
func reachable(listener net.Listener) (host string, port int) {
	address := listener.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		return "127.0.0.1", address.Port
	}
	return address.IP.String(), address.Port
}

// servingHosts returns the names and addresses in the API's certificate.
func servingHosts(listener net.Listener, advertised []string) []string {
	host, _ := reachable(listener)
	hosts := []string{"localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	for _, extra := range append([]string{host}, advertised...) {
		if !slices.Contains(hosts, extra) {
			hosts = append(hosts, extra)
		}
	}
	return hosts
}
