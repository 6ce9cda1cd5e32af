// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/vault/physical/raft"
	"github.com/hashicorp/vault/sdk/physical"
	"github.com/hashicorp/vault/vault"
)

// joined is a server of the cluster, any of which may be the leader.
type joined struct {
	API    string `hcl:"leader_api_addr" json:"leader_api_addr"`
	CA     string `hcl:"leader_ca_cert" json:"leader_ca_cert,omitempty"`
	CAFile string `hcl:"leader_ca_cert_file" json:"leader_ca_cert_file,omitempty"`
	Name   string `hcl:"leader_tls_servername" json:"leader_tls_servername,omitempty"`
}

// joinsOf reads the blocks retry_join. The decoder of whole files would make an entry of each of their fields.
func joinsOf(text string) (all []joined, err error) {
	file, err := hcl.Parse(text)
	if err != nil {
		return nil, err
	}
	root, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return nil, errors.New("it has no blocks")
	}
	for _, storage := range root.Filter("storage", "raft").Items {
		fields, ok := storage.Val.(*ast.ObjectType)
		if !ok {
			continue
		}
		for _, block := range fields.List.Filter("retry_join").Items {
			var j joined
			if err := hcl.DecodeObject(&j, block.Val); err != nil {
				return nil, err
			}
			all = append(all, j)
		}
	}
	return all, nil
}

// cluster makes a server one of several, with Vault's integrated storage.
type cluster struct {
	path, node string
	others     []joined
	// api and address are where others reach the server, and listen is where it listens for them.
	api, address, listen string
	backend              physical.Backend
}

func (c *cluster) storage(logger hclog.Logger) (physical.Backend, error) {
	settings := map[string]string{"path": c.path, "node_id": c.node}
	if len(c.others) > 0 {
		text, err := json.Marshal(c.others)
		if err != nil {
			return nil, err
		}
		settings["retry_join"] = string(text)
	}
	var err error
	c.backend, err = raft.NewRaftBackend(settings, logger.Named("storage.raft"))
	return c.backend, err
}

func (c *cluster) configure(conf *vault.CoreConfig) {
	conf.StorageType, conf.HAPhysical = "raft", c.backend.(physical.HABackend) //nolint:forcetypeassert // raft's is
	conf.RedirectAddr, conf.ClusterAddr = c.api, c.address
}

// join listens for the other servers, and joins them in the background if it does not belong to a cluster yet.
func (c *cluster) join(core *vault.Core, handler http.Handler) error {
	listen := c.listen
	if listen == "" { // as Vault does: the port after that of the API
		u, err := url.Parse(c.address)
		if err != nil {
			return fmt.Errorf("read cluster_addr: %w", err)
		}
		listen = net.JoinHostPort("0.0.0.0", u.Port())
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("read cluster_address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("read cluster_address: %w", err)
	}
	core.SetClusterListenerAddrs([]*net.TCPAddr{{IP: net.ParseIP(host), Port: port}})
	core.SetClusterHandler(handler)
	if err := core.InitiateRetryJoin(context.Background()); err != nil {
		return fmt.Errorf("join the other servers: %w", err)
	}
	return nil
}
