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

// ListenError says why the API's address cannot be had.
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
		return fmt.Sprintf("cannot listen on %s: this machine has no such address. Choose another with --api-address", e.Address)
	default:
		return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.cause)
	}
}

func (e *ListenError) Unwrap() error { return e.cause }

// listen opens the API's address.
func listen(address string) (*net.TCPListener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &ListenError{Address: address, cause: err}
	}
	return listener.(*net.TCPListener), nil
}

// reachable returns an address that a client on this machine can use for a listener, which may listen everywhere.
func reachable(listener net.Listener) (host string, port int) {
	address := listener.Addr().(*net.TCPAddr)
	if address.IP.IsUnspecified() {
		return "127.0.0.1", address.Port
	}
	return address.IP.String(), address.Port
}

// servingHosts are the names and addresses that the API's certificate holds for.
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
