// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/home/etcd"
	"github.com/yuba-dev/yuba/internal/home/pki"
)

// startCluster starts the control plane of a cluster, etcd and kube-apiserver with their usual
// flags, and returns an administrator's kubeconfig. Without kube-controller-manager, nothing
// collects garbage.
func startCluster(t *testing.T) (kubeconfig string) {
	t.Helper()
	dir := t.TempDir()
	c := newCertificates(t, dir)
	store := startEtcd(t, filepath.Join(dir, "etcd"), c)
	address, port := freeAddress(t)
	server := start(t, apiServerProgram,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+dir, "--endpoint-reconciler-type=none",
		"--tls-cert-file="+c.server.CertificateFile(), "--tls-private-key-file="+c.server.KeyFile(),
		"--client-ca-file="+c.authority.File(), "--authorization-mode=RBAC", "--anonymous-auth=false",
		"--etcd-servers="+store.Endpoint(), "--etcd-cafile="+c.authority.File(),
		"--etcd-certfile="+c.client.CertificateFile(), "--etcd-keyfile="+c.client.KeyFile(),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-key-file="+c.client.KeyFile(), "--service-account-signing-key-file="+c.client.KeyFile())
	kubeconfig = filepath.Join(dir, "kubeconfig")
	writeKubeconfig(t, kubeconfig, "https://"+address, c)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	server.until(t, "is ready", func() error {
		return api.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error()
	})
	return kubeconfig
}

// certificates are those of a cluster: one authority, one server, one administrator.
type certificates struct {
	authority      *pki.Authority
	server, client pki.Leaf
}

func newCertificates(t *testing.T, dir string) *certificates {
	t.Helper()
	authority, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "conformance", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := &certificates{authority: authority,
		server: pki.Leaf{Base: filepath.Join(dir, "server"), CommonName: "kube-apiserver", Hosts: []string{"127.0.0.1", "localhost"}, Life: 24 * time.Hour},
		client: pki.Leaf{Base: filepath.Join(dir, "admin"), CommonName: "admin", Groups: []string{"system:masters"}, Life: 24 * time.Hour}}
	for _, leaf := range []pki.Leaf{c.server, c.client} {
		if _, err := authority.Keep(leaf, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func startEtcd(t *testing.T, dir string, c *certificates) *etcd.Server {
	t.Helper()
	pair, err := c.server.Load()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	s, err := etcd.Start(ctx, etcd.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), TLS: &tls.Config{Certificates: []tls.Certificate{*pair},
		ClientCAs: c.authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func writeKubeconfig(t *testing.T, file, url string, c *certificates) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: url, CertificateAuthority: c.authority.File()}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificate: c.client.CertificateFile(), ClientKey: c.client.KeyFile()}
	config.Contexts["cluster"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "admin"}
	config.CurrentContext = "cluster"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
}
