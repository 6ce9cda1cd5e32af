// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/listener"
	"github.com/yuba-dev/yuba/internal/platform/callhome"
)

// CallHomeOptions say where new nodes hand over their kubeconfigs.
type CallHomeOptions struct {
	// Address is the host:port to listen on; empty for none.
	Address string
	// URL is how nodes reach it, as https://HOST[:PORT]; empty for the address.
	URL string
}

// Check checks the options.
func (o CallHomeOptions) Check() error {
	if o.Address == "" {
		if o.URL != "" {
			return errors.New("want --call-home-address, too: without it nothing listens for nodes")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return fmt.Errorf("--call-home-address %q: want HOST:PORT", o.Address)
	}
	if o.URL == "" && (port == "" || port == "0") {
		return fmt.Errorf("--call-home-address %q: want a port, because nodes are told the address before anything listens", o.Address)
	}
	if ip := net.ParseIP(host); o.URL == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
		return fmt.Errorf("--call-home-address %s is every address of this machine. Name the one that nodes reach:\n    --call-home-url https://HOST:PORT", o.Address)
	}
	if o.URL == "" {
		return nil
	}
	if u, err := url.Parse(o.URL); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return fmt.Errorf("--call-home-url %q: want https://HOST[:PORT]", o.URL)
	}
	return nil
}

// Base is the URL of the call home without a path; empty if nothing listens.
func (o CallHomeOptions) Base() string {
	if o.URL != "" || o.Address == "" {
		return o.URL
	}
	return "https://" + o.Address
}

// callHome serves the call home of nodes.
type callHome struct {
	server *http.Server
	// base is how nodes reach it; they trust the authority of the server's certificates.
	base string
}

// tickets are the Secrets of the API itself: a cache could still show a spent token.
type tickets struct{ client.Client }

// Get implements callhome.Secrets.
func (t tickets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, t.Client.Get(ctx, key, s)
}

// Update implements callhome.Secrets.
func (t tickets) Update(ctx context.Context, s *corev1.Secret) error { return t.Client.Update(ctx, s) }

// callHomeTime limits a request of a node: a token and some kilobytes.
const callHomeTime = listener.ShortBody

// serveCallHome listens for nodes, if the options say so. It has a listener of its own, because others are for this
// machine and for users: a node reaches nothing but the call home.
func (e *engine) serveCallHome(direct client.Client, issue func(names []string) (certificate, error)) error {
	o := e.opts.CallHome
	if o.Address == "" {
		return nil
	}
	inner, err := listen("--call-home-address", o.Address)
	if err != nil {
		return err
	}
	c := &callHome{base: o.Base()}
	u, err := url.Parse(c.base)
	if err != nil {
		return errors.Join(fmt.Errorf("read the URL of the call home: %w", err), inner.Close())
	}
	cert, err := issue([]string{u.Hostname()})
	if err != nil {
		return errors.Join(err, inner.Close())
	}
	connections := listener.New(inner, e.opts.Connections.Share(5))
	handler := &callhome.Handler{Secrets: tickets{direct}, Now: time.Now, Log: e.opts.Log.With("component", "call-home"), Authenticated: listener.Authenticated}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert}
	c.server = listener.NewServer(listener.Knowing(connections, handler), callHomeTime, config, e.opts.Log)
	go serve("the call home of nodes", e.opts.Log, func() error { return c.server.ServeTLS(connections, "", "") })
	e.callHome = c
	return nil
}

// stopCallHome ends the listener. A node whose request is cut off tries again.
func (e *engine) stopCallHome() error {
	if e.callHome == nil {
		return nil
	}
	return e.callHome.server.Close()
}
