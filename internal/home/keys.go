// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/pki"
)

// lifetimes are the validity of certificates and the interval of checks.
type lifetimes struct {
	certificate time.Duration
	check       time.Duration
}

// normalLifetimes renew a certificate four months before it expires.
var normalLifetimes = lifetimes{certificate: 365 * 24 * time.Hour, check: time.Hour}

type keys struct {
	dir   datadir.Dir
	life  lifetimes
	api   *pki.Authority
	etcd  *pki.Authority
	admin pki.Leaf
	// The API server reads serving and etcdClient from their files, and reloads them when they
	// change.
	serving    pki.Leaf
	etcdClient pki.Leaf
	etcdServer *servingCertificate

	mu     sync.Mutex
	issued map[string]*servingCertificate
}

// servingCertificate is a certificate that can be replaced while its server runs.
type servingCertificate struct {
	authority *pki.Authority
	leaf      pki.Leaf
	current   atomic.Pointer[tls.Certificate]
}

// keep renews the certificate if it is due.
func (c *servingCertificate) keep(now time.Time) (renewed bool, err error) {
	renewed, err = c.authority.Keep(c.leaf, now)
	if err != nil || (!renewed && c.current.Load() != nil) {
		return renewed, err
	}
	pair, err := c.leaf.Load()
	if err != nil {
		return renewed, err
	}
	c.current.Store(pair)
	return renewed, nil
}

func (c *servingCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// openKeys reads the keys of the data directory and creates missing ones.
func openKeys(dir datadir.Dir, hosts []string, life lifetimes) (*keys, error) {
	for _, path := range []string{dir.Keys(), filepath.Join(dir.Keys(), "etcd"), filepath.Join(dir.Keys(), "issued")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("create the directory for keys: %w", err)
		}
	}
	now := time.Now()
	k := &keys{dir: dir, life: life, issued: map[string]*servingCertificate{}}
	var err error
	if k.api, err = pki.OpenAuthority(k.path("ca"), "yuba-api", now); err != nil {
		return nil, err
	}
	if k.etcd, err = pki.OpenAuthority(k.path("etcd", "ca"), "yuba-etcd", now); err != nil {
		// Only this process trusts etcd's authority, so a damaged one can be replaced.
		if err := errors.Join(os.RemoveAll(k.path("etcd", "ca.crt")), os.RemoveAll(k.path("etcd", "ca.key"))); err != nil {
			return nil, fmt.Errorf("replace etcd's damaged authority: %w", err)
		}
		if k.etcd, err = pki.OpenAuthority(k.path("etcd", "ca"), "yuba-etcd", now); err != nil {
			return nil, err
		}
	}
	k.serving = pki.Leaf{Base: k.path("serving"), CommonName: "yuba", Hosts: hosts, Life: life.certificate}
	k.admin = pki.Leaf{Base: k.path("admin"), CommonName: "yuba-admin", Groups: []string{"system:masters"}, Life: life.certificate}
	k.etcdClient = pki.Leaf{Base: k.path("etcd", "client"), CommonName: "yuba", Life: life.certificate}
	k.etcdServer = &servingCertificate{authority: k.etcd, leaf: pki.Leaf{
		Base: k.path("etcd", "server"), CommonName: "etcd", Hosts: []string{"localhost", "127.0.0.1"}, Life: life.certificate}}
	if _, err := k.renew(now); err != nil {
		return nil, err
	}
	if err := pki.MakeKey(k.serviceAccountKey()); err != nil {
		return nil, fmt.Errorf("read the key that signs service account tokens: %w", err)
	}
	return k, k.writeEncryption()
}

func (k *keys) path(elements ...string) string {
	return filepath.Join(append([]string{k.dir.Keys()}, elements...)...)
}

func (k *keys) serviceAccountKey() string { return k.path("service-account.key") }
func (k *keys) encryption() string        { return k.path("encryption.yaml") }

// renew renews every certificate that is due, and reports whether the administrator's was among
// them.
func (k *keys) renew(now time.Time) (adminRenewed bool, err error) {
	if _, err := k.api.Keep(k.serving, now); err != nil {
		return false, err
	}
	if _, err := k.etcd.Keep(k.etcdClient, now); err != nil {
		return false, err
	}
	if _, err := k.etcdServer.keep(now); err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, certificate := range k.issued {
		if _, err := certificate.keep(now); err != nil {
			return false, err
		}
	}
	return k.api.Keep(k.admin, now)
}

// issue returns a self-renewing certificate for the hosts, signed by the API's authority.
func (k *keys) issue(name string, hosts []string) (*servingCertificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	certificate := &servingCertificate{authority: k.api, leaf: pki.Leaf{
		Base: k.path("issued", name), CommonName: name, Hosts: hosts, Life: k.life.certificate}}
	if _, err := certificate.keep(time.Now()); err != nil {
		return nil, err
	}
	k.issued[name] = certificate
	return certificate, nil
}

// keepRenewing renews certificates until the context ends. url is the server address in the
// kubeconfig.
func (k *keys) keepRenewing(ctx context.Context, url string, log *slog.Logger) {
	ticker := time.NewTicker(k.life.check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			adminRenewed, err := k.renew(now)
			if err == nil && adminRenewed {
				err = k.writeKubeconfig(url)
			}
			if err != nil {
				log.Error("renewing the certificates failed; retrying", "in", k.life.check, "error", err)
			}
		}
	}
}

// etcdTLS is etcd's configuration as a server.
func (k *keys) etcdTLS() *tls.Config {
	return &tls.Config{
		GetCertificate: k.etcdServer.get,
		ClientCAs:      k.etcd.Pool(),
		ClientAuth:     tls.RequireAndVerifyClientCert,
		MinVersion:     tls.VersionTLS13,
	}
}

// writeEncryption creates the key that encrypts Secrets at rest. Losing it loses the Secrets, so it
// is written once, before the first Secret, and never replaced.
func (k *keys) writeEncryption() error {
	_, err := os.Stat(k.encryption())
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("create the key that encrypts Secrets: %w", err)
	}
	return datadir.WriteFile(k.encryption(), fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
      - name: key1
        secret: %s
`, base64.StdEncoding.EncodeToString(key)), 0o600)
}
