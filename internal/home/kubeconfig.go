// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes the administrator's kubeconfig for the API at url, unless it is current.
func (k *keys) writeKubeconfig(url string) error {
	certificate, noCertificate := os.ReadFile(k.admin.CertificateFile())
	key, noKey := os.ReadFile(k.admin.KeyFile())
	if err := errors.Join(noCertificate, noKey); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["yuba"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: k.api.PEM()}
	config.AuthInfos["yuba-admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts["yuba"] = &clientcmdapi.Context{Cluster: "yuba", AuthInfo: "yuba-admin", Namespace: "default"}
	config.CurrentContext = "yuba"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	current, err := os.ReadFile(k.dir.Kubeconfig())
	if err == nil && bytes.Equal(current, data) {
		return os.Chmod(k.dir.Kubeconfig(), 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return datadir.WriteFile(k.dir.Kubeconfig(), data, 0o600)
}
