// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

const (
	// maxKubeconfig limits a kubeconfig; a Secret may have a mebibyte.
	maxKubeconfig = 256 << 10
	// timeout limits one request to a remote cluster.
	timeout     = 30 * time.Second
	dialTimeout = 10 * time.Second
	// maxAnswer limits a response: the author of the kubeconfig may control the cluster. The
	// largest ones list an API's kinds.
	maxAnswer = 32 << 20
)

// bounded sends requests to one server only, and limits responses.
type bounded struct {
	server *url.URL
	inner  http.RoundTripper
}

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != b.server.Scheme || request.URL.Host != b.server.Host {
		// Redirected requests carry the credentials, too.
		return nil, ErrRedirected
	}
	response, err := b.inner.RoundTrip(request)
	if err == nil && response.Body != nil {
		response.Body = &boundedBody{response.Body, maxAnswer}
	}
	return response, err
}

// ErrRedirected means that the remote cluster redirected a request. It does not say where.
var ErrRedirected = errors.New("the remote cluster redirects to another server; refusing to send credentials to a server that the kubeconfig does not name")

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the remote cluster's response has more than %d bytes", maxAnswer)
	}
	return n, err
}

// Kubeconfig returns the kubeconfig in a Secret, as Flux does: under the named key, else value,
// else value.yaml.
func Kubeconfig(secret *corev1.Secret, key string) ([]byte, error) {
	keys := []string{key}
	if key == "" {
		keys = []string{"value", "value.yaml"}
	}
	for _, k := range keys {
		if content := secret.Data[k]; len(content) > 0 {
			if len(content) > maxKubeconfig {
				return nil, fmt.Errorf("the kubeconfig in the Secret %s/%s has more than %d bytes", secret.Namespace, secret.Name, maxKubeconfig)
			}
			return content, nil
		}
	}
	return nil, fmt.Errorf("the Secret %s/%s has no kubeconfig under %q", secret.Namespace, secret.Name, keys)
}

// Config parses a kubeconfig from a Secret. It refuses programs, files of this server, and servers
// that cannot be verified. Errors do not quote it.
func Config(content []byte) (*rest.Config, error) {
	parsed, err := clientcmd.Load(content)
	if err != nil {
		return nil, errors.New("the kubeconfig is invalid")
	}
	if err := harmless(parsed); err != nil {
		return nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("the kubeconfig has no current context with a cluster and a user")
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, errors.New("the kubeconfig's server is not a URL that begins with https://")
	}
	if server.Scheme != "https" {
		return nil, errors.New("the kubeconfig's server is not https; refusing to send credentials in clear text: " +
			"write https:// before it, and put its certificate authority into certificate-authority-data")
	}
	config.Timeout, config.QPS = timeout, -1
	config.Dial = outbound.Dialer(dialTimeout).DialContext
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return bounded{server, inner} })
	return config, nil
}

// harmless refuses programs, files, and unverified servers.
func harmless(c *clientcmdapi.Config) error {
	for name, u := range c.AuthInfos {
		switch {
		case u.Exec != nil || u.AuthProvider != nil:
			return fmt.Errorf("the kubeconfig's user %q gets its credentials from a program, which this server does not run: put a token or a certificate into it", name)
		case u.ClientCertificate != "" || u.ClientKey != "" || u.TokenFile != "":
			return fmt.Errorf("the kubeconfig's user %q names files, which this server does not read: put their contents into it (kubectl config view --flatten)", name)
		}
	}
	for name, k := range c.Clusters {
		switch {
		case k.CertificateAuthority != "":
			return fmt.Errorf("the kubeconfig's cluster %q names a file, which this server does not read: put its content into it (kubectl config view --flatten)", name)
		case k.InsecureSkipTLSVerify:
			return fmt.Errorf("the kubeconfig's cluster %q is not verified (insecure-skip-tls-verify); refusing to send credentials: put its certificate authority into certificate-authority-data", name)
		}
	}
	return nil
}
