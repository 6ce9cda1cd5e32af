// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Output is one output of a stack, as `tofu output -json` prints it.
type Output struct {
	Sensitive bool            `json:"sensitive"`
	Type      json.RawMessage `json:"type"`
	Value     json.RawMessage `json:"value"`
}

// Client reads and writes content. Its methods return errors for the functions of package
// k8s.io/apimachinery/pkg/api/errors, and retry nothing. It is safe for concurrent use.
type Client struct {
	door door
}

// NewClient returns a client with the address and credentials of config. For an API server without
// content, a ConfigMap there has the address.
func NewClient(config *rest.Config) (*Client, error) {
	d, err := newDoor(config)
	if err != nil {
		return nil, err
	}
	return &Client{door: d}, nil
}

// LogOptions select a log.
type LogOptions struct {
	// Run is the run's id; empty means the current run, else the last one.
	Run string
	// Follow continues until the run has ended.
	Follow bool
}

// Log returns a run's log, one JSON document a line.
func (c *Client) Log(ctx context.Context, namespace, name string, o LogOptions) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, stackPath(namespace, name, "log"), parameters("run", o.Run, "follow", yes(o.Follow)), nil)
}

// Plan returns the redacted plan of a run; without a run's id the pending plan, else the last one.
func (c *Client) Plan(ctx context.Context, namespace, name, runID string) ([]byte, error) {
	return c.read(ctx, stackPath(namespace, name, "plan"), parameters("run", runID))
}

// Runs returns the newest runs, newest first; limit 0 leaves their number to the server.
func (c *Client) Runs(ctx context.Context, namespace, name string, limit int) (RunList, error) {
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return ask[RunList](ctx, c, http.MethodGet, stackPath(namespace, name, "runs"), query, nil)
}

// State returns the content of the state, or of one of its versions.
func (c *Client) State(ctx context.Context, namespace, name, version string) ([]byte, error) {
	return c.read(ctx, stackPath(namespace, name, "state"), parameters("version", version))
}

// Versions returns the stored versions of the state, newest first.
func (c *Client) Versions(ctx context.Context, namespace, name string) (VersionList, error) {
	return ask[VersionList](ctx, c, http.MethodGet, stackPath(namespace, name, "versions"), nil, nil)
}

// Outputs returns all outputs, including sensitive values.
func (c *Client) Outputs(ctx context.Context, namespace, name string) (map[string]Output, error) {
	return ask[map[string]Output](ctx, c, http.MethodGet, stackPath(namespace, name, "outputs"), nil, nil)
}

// Rollback makes a stored version the current state.
func (c *Client) Rollback(ctx context.Context, namespace, name, version string) (state.Rollback, error) {
	return ask[state.Rollback](ctx, c, http.MethodPost, stackPath(namespace, name, "rollback"), url.Values{"version": {version}}, nil)
}

// Change starts a change of the state and returns the record of its run, with a result if it is
// complete already. It may read the state to push twice.
func (c *Client) Change(ctx context.Context, namespace, name string, change run.StateChange, expect string) (run.Record, error) {
	query := parameters("verb", string(change.Verb), "expect", expect, "force", yes(change.Force), "preview", yes(change.Preview),
		"accept", yes(change.Accept), "breakLock", change.BreakLock)
	query["arg"] = change.Args
	var pushed io.ReadSeeker
	switch change.Verb {
	case run.StatePush:
		pushed = bytes.NewReader(change.State)
	case run.StateConsole:
		pushed = bytes.NewReader(change.Input)
	}
	return ask[run.Record](ctx, c, http.MethodPost, stackPath(namespace, name, "change"), query, pushed)
}

// Shell starts a run that this process executes, and returns what it needs for that.
func (c *Client) Shell(ctx context.Context, namespace, name string) (run.ShellGrant, error) {
	return ask[run.ShellGrant](ctx, c, http.MethodPost, stackPath(namespace, name, "shell"), nil, nil)
}

// Run returns the record of one run.
func (c *Client) Run(ctx context.Context, namespace, name, id string) (run.Record, error) {
	list, err := ask[RunList](ctx, c, http.MethodGet, stackPath(namespace, name, "runs"), url.Values{"run": {id}}, nil)
	if err != nil {
		return run.Record{}, err
	}
	if len(list.Items) != 1 {
		return run.Record{}, fmt.Errorf("read run %s of %s/%s: the server does not support reading a single run", id, namespace, name)
	}
	return list.Items[0], nil
}

// Cancel cancels a run, the current one without an id, and returns its record.
func (c *Client) Cancel(ctx context.Context, namespace, name, runID string) (run.Record, error) {
	return ask[run.Record](ctx, c, http.MethodPost, stackPath(namespace, name, "cancel"), parameters("run", runID), nil)
}

// BreakLock starts a run that breaks the lock of a custom backend.
func (c *Client) BreakLock(ctx context.Context, namespace, name, id string) (run.Record, error) {
	return ask[run.Record](ctx, c, http.MethodPost, stackPath(namespace, name, "unlock"), url.Values{"id": {id}}, nil)
}

// Unlock releases the lock of a state that Yuba keeps, with exactly this id.
func (c *Client) Unlock(ctx context.Context, namespace, name, id string) error {
	return c.do(ctx, stackPath(namespace, name, "unlock"), url.Values{"id": {id}}, nil)
}

// Archive returns the archive of a source, by the plural name of its kind.
func (c *Client) Archive(ctx context.Context, plural, namespace, name string) (io.ReadCloser, error) {
	path := PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/" + plural + "/" + url.PathEscape(name) + "/archive"
	return c.open(ctx, http.MethodGet, path, nil, nil)
}

// Push stores an archive for the ExternalArtifact of that name. It may read it twice.
func (c *Client) Push(ctx context.Context, namespace, name string, archive io.ReadSeeker) (Pushed, error) {
	path := PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/externalartifacts/" + url.PathEscape(name) + "/archive"
	return ask[Pushed](ctx, c, http.MethodPost, path, nil, archive)
}

// Backup returns all data of the server as one archive. The archive is complete only if it was read
// to the end without an error.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, PathPrefix+"/backup", nil, nil)
}

// Restore sends a backup, to be restored at the server's next start. It may read it twice.
func (c *Client) Restore(ctx context.Context, archive io.ReadSeeker) error {
	return c.do(ctx, PathPrefix+"/restore", nil, archive)
}

// Server describes the server.
func (c *Client) Server(ctx context.Context) (ServerInfo, error) {
	return ask[ServerInfo](ctx, c, http.MethodGet, PathPrefix+"/server", nil, nil)
}

// KeptTools lists the versions of tofu and terraform that the registry keeps.
func (c *Client) KeptTools(ctx context.Context) (KeptTools, error) {
	return ask[KeptTools](ctx, c, http.MethodGet, PathPrefix+"/server", url.Values{"tools": {"kept"}}, nil)
}

// Why explains the current decision about a stack.
func (c *Client) Why(ctx context.Context, namespace, name string) (run.Why, error) {
	return ask[run.Why](ctx, c, http.MethodGet, stackPath(namespace, name, "why"), nil, nil)
}

// Queue returns all current runs, waiting ones in the order in which they start.
func (c *Client) Queue(ctx context.Context) (Queue, error) {
	return ask[Queue](ctx, c, http.MethodGet, PathPrefix+"/queue", nil, nil)
}

// Figures returns the current and recent load of the server.
func (c *Client) Figures(ctx context.Context) (Figures, error) {
	return ask[Figures](ctx, c, http.MethodGet, PathPrefix+"/figures", nil, nil)
}

// Providers returns the providers that are stored for all stacks.
func (c *Client) Providers(ctx context.Context) (ProviderList, error) {
	return ask[ProviderList](ctx, c, http.MethodGet, PathPrefix+"/providerstore", nil, nil)
}

// RemoveProvider removes a version of a provider from one scope or, if scope is empty, from all. It
// returns what it removed.
func (c *Client) RemoveProvider(ctx context.Context, source, version, scope string) (ProviderList, error) {
	return ask[ProviderList](ctx, c, http.MethodDelete, PathPrefix+"/providerstore", parameters("source", source, "version", version, "scope", scope), nil)
}

func stackPath(namespace, name, part string) string {
	return PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/terraforms/" + url.PathEscape(name) + "/" + part
}

// parameters makes a query of names and values, without the empty ones.
func parameters(pairs ...string) url.Values {
	query := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			query.Set(pair[0], pair[1])
		}
	}
	return query
}

func yes(set bool) string {
	if set {
		return "true"
	}
	return ""
}

func (c *Client) open(ctx context.Context, method, path string, query url.Values, body io.ReadSeeker) (io.ReadCloser, error) {
	response, err := c.door.ask(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (c *Client) read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	body, err := c.open(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	return data, errors.Join(err, body.Close())
}

// ask sends a request and decodes the response.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, body io.ReadSeeker) (answer T, err error) {
	response, err := c.open(ctx, method, path, query, body)
	if err == nil {
		err = decode(response, &answer)
	}
	return answer, err
}

func (c *Client) do(ctx context.Context, path string, query url.Values, body io.ReadSeeker) error {
	answer, err := c.open(ctx, http.MethodPost, path, query, body)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

func decode(body io.ReadCloser, into any) error {
	err := json.NewDecoder(body).Decode(into)
	if err != nil {
		err = fmt.Errorf("read the server's response: %w", err)
	}
	return errors.Join(err, body.Close())
}
