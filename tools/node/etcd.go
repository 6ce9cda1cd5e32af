// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/url"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// serveEtcd serves the API server's storage: etcd DIR CERT KEY CA.
func serveEtcd(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("etcd wants DIR CERT KEY CA, and got %d arguments", len(args))
	}
	tls := transport.TLSInfo{CertFile: args[1], KeyFile: args[2], TrustedCAFile: args[3], ClientCertAuth: true}
	client := []url.URL{{Scheme: "https", Host: etcdClients}}
	peer := []url.URL{{Scheme: "https", Host: etcdPeers}}
	c := embed.NewConfig()
	c.Dir, c.LogLevel = args[0], "warn"
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ClientTLSInfo = client, client, tls
	c.ListenPeerUrls, c.AdvertisePeerUrls, c.PeerTLSInfo = peer, peer, tls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	// A test's cluster does not outlive the machine.
	c.UnsafeNoFsync = true
	e, err := embed.StartEtcd(c)
	if err != nil {
		return fmt.Errorf("start etcd in %s: %w", args[0], err)
	}
	return <-e.Err()
}
