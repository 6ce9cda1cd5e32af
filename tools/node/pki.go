// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// identity is a name that a certificate proves, as a server and as a client.
type identity struct {
	file, name, group string
	hosts             []string
}

// identities are the certificates of a node. Groups and names are those that RBAC and the node authorizer know.
var identities = []identity{
	{file: "etcd", name: "etcd", hosts: []string{"127.0.0.1"}},
	{file: "apiserver", name: "kube-apiserver", hosts: []string{address, "127.0.0.1", serviceAddress, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + domain}},
	{file: "admin", name: "kube-node-admin", group: "system:masters"},
	{file: "front-proxy", name: frontProxy},
	{file: "controller-manager", name: "system:kube-controller-manager"},
	{file: "scheduler", name: "system:kube-scheduler"},
	{file: "proxy", name: "system:kube-proxy"},
	{file: "kubelet", name: "system:node:" + nodeName, group: "system:nodes", hosts: []string{nodeName, address}},
}

// frontProxy is the name by which the API server speaks for users to other API servers.
const frontProxy = "front-proxy"

const lifetime = 7 * 24 * time.Hour

// authority signs the certificates of one node.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	dir  string
}

// writePKI creates the certificates, the key of service accounts and the kubeconfigs in a new directory.
func writePKI(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := newKey(filepath.Join(dir, "ca.key"))
	if err != nil {
		return err
	}
	template := certificate("kube-node-ca", "")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	ca := authority{cert: template, key: key, dir: dir}
	if err := ca.sign(template, key, "ca"); err != nil {
		return err
	}
	if _, err := newKey(filepath.Join(dir, "sa.key")); err != nil {
		return err
	}
	for _, id := range identities {
		if err := ca.issue(id); err != nil {
			return fmt.Errorf("issue the certificate of %s: %w", id.file, err)
		}
	}
	return nil
}

func (a authority) issue(id identity) error {
	key, err := newKey(filepath.Join(a.dir, id.file+".key"))
	if err != nil {
		return err
	}
	template := certificate(id.name, id.group)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range id.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if err := a.sign(template, key, id.file); err != nil {
		return err
	}
	return a.writeKubeconfig(id.file)
}

func certificate(name, group string) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if group != "" {
		c.Subject.Organization = []string{group}
	}
	return c
}

func (a authority) sign(template *x509.Certificate, key crypto.Signer, file string) error {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(a.dir, file+".crt"), "CERTIFICATE", der)
}

func newKey(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// writeKubeconfig writes FILE.kubeconfig beside the certificate; it names files of the node's directory.
func (a authority) writeKubeconfig(file string) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["node"] = &clientcmdapi.Cluster{Server: "https://" + hostPort(), CertificateAuthority: filepath.Join(a.dir, "ca.crt")}
	c.AuthInfos[file] = &clientcmdapi.AuthInfo{ClientCertificate: filepath.Join(a.dir, file+".crt"), ClientKey: filepath.Join(a.dir, file+".key")}
	c.Contexts["node"] = &clientcmdapi.Context{Cluster: "node", AuthInfo: file}
	c.CurrentContext = "node"
	return clientcmd.WriteToFile(*c, filepath.Join(a.dir, file+".kubeconfig"))
}
