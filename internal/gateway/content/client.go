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

// NewClient returns a client with the address and credentials of config. If that API server does
// not serve content, the client reads the address from a ConfigMap there, and uses the same
// credentials.
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
	query := url.Values{}
	setUnlessEmpty(query, "run", o.Run)
	if o.Follow {
		query.Set("follow", "true")
	}
	return c.open(ctx, http.MethodGet, stackPath(namespace, name, "log"), query, nil)
}

// Plan returns the redacted plan of a run; without a run's id the pending plan, else the last one.
func (c *Client) Plan(ctx context.Context, namespace, name, runID string) ([]byte, error) {
	query := url.Values{}
	setUnlessEmpty(query, "run", runID)
	return c.read(ctx, stackPath(namespace, name, "plan"), query)
}

// Runs returns the records of the newest runs, newest first. With limit 0 the server chooses their
// number.
func (c *Client) Runs(ctx context.Context, namespace, name string, limit int) (RunList, error) {
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var list RunList
	return list, c.readJSON(ctx, http.MethodGet, stackPath(namespace, name, "runs"), query, &list)
}

// State returns the content of the state, or of one of its versions.
func (c *Client) State(ctx context.Context, namespace, name, version string) ([]byte, error) {
	query := url.Values{}
	setUnlessEmpty(query, "version", version)
	return c.read(ctx, stackPath(namespace, name, "state"), query)
}

// Versions returns the stored versions of the state, newest first.
func (c *Client) Versions(ctx context.Context, namespace, name string) (VersionList, error) {
	var list VersionList
	return list, c.readJSON(ctx, http.MethodGet, stackPath(namespace, name, "versions"), nil, &list)
}

// Outputs returns all outputs, including sensitive values.
func (c *Client) Outputs(ctx context.Context, namespace, name string) (map[string]Output, error) {
	var outputs map[string]Output
	return outputs, c.readJSON(ctx, http.MethodGet, stackPath(namespace, name, "outputs"), nil, &outputs)
}

// Rollback makes a stored version the current state.
func (c *Client) Rollback(ctx context.Context, namespace, name, version string) (state.Rollback, error) {
	var done state.Rollback
	query := url.Values{"version": {version}}
	return done, c.readJSON(ctx, http.MethodPost, stackPath(namespace, name, "rollback"), query, &done)
}

// Change starts a change of the state and returns the record of its run, with a result if it is
// complete already. It may read the state to push twice.
func (c *Client) Change(ctx context.Context, namespace, name string, change run.StateChange, expect string) (run.Record, error) {
	query := url.Values{"verb": {string(change.Verb)}, "arg": change.Args}
	setUnlessEmpty(query, "expect", expect)
	for name, set := range map[string]bool{"force": change.Force, "preview": change.Preview} {
		if set {
			query.Set(name, "true")
		}
	}
	var pushed io.ReadSeeker
	if change.Verb == run.StatePush {
		pushed = bytes.NewReader(change.State)
	}
	var rec run.Record
	body, err := c.open(ctx, http.MethodPost, stackPath(namespace, name, "change"), query, pushed)
	if err != nil {
		return rec, err
	}
	return rec, decode(body, &rec)
}

// Shell starts a run that this process executes, and returns what it needs for that.
func (c *Client) Shell(ctx context.Context, namespace, name string) (run.ShellGrant, error) {
	var grant run.ShellGrant
	return grant, c.readJSON(ctx, http.MethodPost, stackPath(namespace, name, "shell"), nil, &grant)
}

// Run returns the record of one run.
func (c *Client) Run(ctx context.Context, namespace, name, id string) (run.Record, error) {
	var list RunList
	err := c.readJSON(ctx, http.MethodGet, stackPath(namespace, name, "runs"), url.Values{"run": {id}}, &list)
	if err != nil {
		return run.Record{}, err
	}
	if len(list.Items) != 1 {
		return run.Record{}, fmt.Errorf("read run %s of %s/%s: the server does not support reading a single run", id, namespace, name)
	}
	return list.Items[0], nil
}

// Cancel cancels a run, the current one without an id, and returns its record, with a result if it
// has ended already.
func (c *Client) Cancel(ctx context.Context, namespace, name, runID string) (run.Record, error) {
	query := url.Values{}
	setUnlessEmpty(query, "run", runID)
	var rec run.Record
	return rec, c.readJSON(ctx, http.MethodPost, stackPath(namespace, name, "cancel"), query, &rec)
}

// Unlock releases the state's lock with exactly this id.
func (c *Client) Unlock(ctx context.Context, namespace, name, id string) error {
	return c.do(ctx, stackPath(namespace, name, "unlock"), url.Values{"id": {id}}, nil)
}

// Push stores a source archive and points the ExternalArtifact of that name to it. It may read the
// archive twice.
func (c *Client) Push(ctx context.Context, namespace, name string, archive io.ReadSeeker) (Pushed, error) {
	path := PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/externalartifacts/" + url.PathEscape(name) + "/archive"
	var pushed Pushed
	body, err := c.open(ctx, http.MethodPost, path, nil, archive)
	if err != nil {
		return pushed, err
	}
	return pushed, decode(body, &pushed)
}

// Backup returns all data of the server as one archive. The archive is complete only if it was read
// to the end without an error.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, PathPrefix+"/backup", nil, nil)
}

// Restore sends a backup to the server, which restores it at its next start. It may read the
// archive twice.
func (c *Client) Restore(ctx context.Context, archive io.ReadSeeker) error {
	return c.do(ctx, PathPrefix+"/restore", nil, archive)
}

// Server describes the server.
func (c *Client) Server(ctx context.Context) (ServerInfo, error) {
	var info ServerInfo
	return info, c.readJSON(ctx, http.MethodGet, PathPrefix+"/server", nil, &info)
}

func stackPath(namespace, name, part string) string {
	return PathPrefix + "/namespaces/" + url.PathEscape(namespace) + "/terraforms/" + url.PathEscape(name) + "/" + part
}

func setUnlessEmpty(query url.Values, key, value string) {
	if value != "" {
		query.Set(key, value)
	}
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

func (c *Client) readJSON(ctx context.Context, method, path string, query url.Values, into any) error {
	body, err := c.open(ctx, method, path, query, nil)
	if err != nil {
		return err
	}
	return decode(body, into)
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
