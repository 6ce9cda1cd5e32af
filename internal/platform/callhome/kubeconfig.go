// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// MaxKubeconfig limits the size of a kubeconfig. k3s' have 3 KiB.
const MaxKubeconfig = 64 << 10

// clean reads a kubeconfig and returns one that names the same server, authority and credential, and nothing
// else. Programs, files and proxies would act on the machine of whoever reads it.
func clean(given []byte) ([]byte, error) {
	config, err := clientcmd.Load(given)
	if err != nil {
		return nil, errors.New("it is not a kubeconfig") // the error of the parser quotes the content
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil {
		return nil, errors.New("its current-context is missing")
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("the cluster or the user of its current-context is missing")
	}
	if err := errors.Join(checkCluster(cluster), checkUser(user)); err != nil {
		return nil, err
	}
	const name = "default"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: cluster.Server, CertificateAuthorityData: cluster.CertificateAuthorityData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: user.ClientCertificateData, ClientKeyData: user.ClientKeyData, Token: user.Token}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	return clientcmd.Write(*out)
}

func checkCluster(c *clientcmdapi.Cluster) error {
	server, err := url.Parse(c.Server)
	if err != nil || server.Scheme != "https" || server.Hostname() == "" || server.User != nil || server.RawQuery != "" || server.Fragment != "" {
		return errors.New("its server is not an https URL")
	}
	if ip := net.ParseIP(server.Hostname()); server.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast()) {
		return fmt.Errorf("its server is %s, which is another machine here. Name the address of the node or of its load balancer", server.Hostname())
	}
	switch {
	case c.InsecureSkipTLSVerify, c.ProxyURL != "", c.TLSServerName != "", c.CertificateAuthority != "":
		return errors.New("its cluster may only have server and certificate-authority-data")
	case !isCertificate(c.CertificateAuthorityData):
		return errors.New("its certificate-authority-data is not a certificate in PEM")
	}
	return nil
}

func checkUser(u *clientcmdapi.AuthInfo) error {
	switch {
	case u.Exec != nil, u.AuthProvider != nil, u.ClientCertificate != "", u.ClientKey != "", u.TokenFile != "", u.Impersonate != "",
		u.ImpersonateUID != "", len(u.ImpersonateGroups) > 0, len(u.ImpersonateUserExtra) > 0, u.Username != "", u.Password != "":
		return errors.New("its user may only have client-certificate-data and client-key-data, or a token")
	case u.Token != "":
		return nil
	case !isCertificate(u.ClientCertificateData) || len(u.ClientKeyData) == 0:
		return errors.New("its user has neither a token nor a client certificate with its key")
	}
	return nil
}

func isCertificate(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return err == nil
}
