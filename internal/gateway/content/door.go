// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// door finds a client's server: the API server, or the address in a ConfigMap there.
type door struct {
	config *rest.Config
	first  address

	mu     *sync.Mutex
	second *address
}

// address is a server and the client for it.
type address struct {
	base   *url.URL
	client *http.Client
}

func newDoor(config *rest.Config) (door, error) {
	first, err := newAddress(config)
	return door{config: config, first: first, mu: &sync.Mutex{}}, err
}

func newAddress(config *rest.Config) (address, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return address{}, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return address{}, fmt.Errorf("read the server's address %q: %w", config.Host, err)
	}
	return address{base: base, client: client}, nil
}

// ask sends a request and returns the response, or the error in it.
func (d *door) ask(ctx context.Context, method, path string, query url.Values, body io.ReadSeeker) (*http.Response, error) {
	to := d.known()
	response, err := to.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	if to == d.first && servesNoContent(response) {
		drop(response)
		if to, err = d.elsewhere(ctx); err != nil {
			return nil, err
		}
		if response, err = to.send(ctx, method, path, query, body); err != nil {
			return nil, err
		}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, statusError(response)
	}
	return response, nil
}

func (d *door) known() address {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.second != nil {
		return *d.second
	}
	return d.first
}

func (a address) send(ctx context.Context, method, path string, query url.Values, body io.ReadSeeker) (*http.Response, error) {
	target := a.base.JoinPath(path)
	target.RawQuery = query.Encode()
	var content io.Reader
	if body != nil {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read the data to send: %w", err)
		}
		content = io.NopCloser(body) // the transport closes what it sent; a second attempt may need it
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	return a.client.Do(request)
}

// servesNoContent recognises an API server without the group: it responds in plain text.
func servesNoContent(response *http.Response) bool {
	return response.StatusCode == http.StatusNotFound &&
		!strings.HasPrefix(response.Header.Get("Content-Type"), "application/json")
}

// elsewhere finds the address of content for an API server that does not serve it.
func (d *door) elsewhere(ctx context.Context) (address, error) {
	path := "/api/v1/namespaces/" + ConfigMapNamespace + "/configmaps/" + ConfigMapName
	response, err := d.first.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return address{}, err
	}
	if response.StatusCode == http.StatusNotFound {
		drop(response)
		return address{}, fmt.Errorf("%s serves neither Yuba's content nor the ConfigMap %s/%s with its address.\n"+
			"Is Yuba running there?", d.first.base.Host, ConfigMapNamespace, ConfigMapName)
	}
	if response.StatusCode != http.StatusOK {
		return address{}, fmt.Errorf("find the address of Yuba's content: %w", statusError(response))
	}
	var where corev1.ConfigMap
	if err := decode(response.Body, &where); err != nil {
		return address{}, fmt.Errorf("find the address of Yuba's content: %w", err)
	}
	config := rest.CopyConfig(d.config)
	config.Host, config.ServerName = where.Data["url"], ""
	config.CAFile, config.CAData, config.Insecure = "", []byte(where.Data["ca.crt"]), false
	if !strings.HasPrefix(config.Host, "https://") {
		// The client sends credentials there.
		return address{}, fmt.Errorf("the ConfigMap %s/%s does not contain an https address for Yuba's content", ConfigMapNamespace, ConfigMapName)
	}
	second, err := newAddress(config)
	if err != nil {
		return address{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.second = &second
	return second, nil
}

// maxError limits how much of an error response is read.
const maxError = 1 << 20

func statusError(response *http.Response) error {
	defer drop(response)
	data, err := io.ReadAll(io.LimitReader(response.Body, maxError))
	var status metav1.Status
	if err == nil && json.Unmarshal(data, &status) == nil && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	message := strings.TrimSpace(string(data))
	if message == "" {
		message = response.Status
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(response.StatusCode), //nolint:gosec // three digits
		Reason:  reasons[response.StatusCode],
		Message: fmt.Sprintf("%s %s: %s", response.Request.Method, response.Request.URL.Path, message),
	}}
}

// reasons are those of responses without a metav1.Status; others are unknown.
var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
	http.StatusForbidden:    metav1.StatusReasonForbidden,
	http.StatusNotFound:     metav1.StatusReasonNotFound,
	http.StatusConflict:     metav1.StatusReasonConflict,
}

func drop(response *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxError)) // allows reusing the connection
	_ = response.Body.Close()
}
