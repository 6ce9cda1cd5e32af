// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What the server knows.
const (
	CloudOrganization = "acme"
	CloudToken        = "t0ken-of-the-cloud.atlasv1"
)

// CloudServer is a server for the backends cloud and remote: the part of Terraform Cloud's published API
// that keeps workspaces, their states and their locks. Its workspaces execute nothing.
type CloudServer struct {
	*Server
	// Host is its name, with a port.
	Host string
	url  string

	mu         sync.Mutex
	workspaces []*cloudWorkspace
}

// cloudWorkspace is a workspace of the organization.
type cloudWorkspace struct {
	ID, Name string
	Tags     []string
	Locked   bool
	versions []*cloudVersion
}

// cloudVersion is a version of a state.
type cloudVersion struct {
	ID     string
	Serial int64
	state  []byte
}

// Cloud starts the server.
func Cloud(t testing.TB) *CloudServer {
	t.Helper()
	authority := newAuthority(t)
	s := &CloudServer{Server: &Server{Authority: authority.pem, Secret: map[string]string{"token": CloudToken}}}
	s.url = authority.serve(t, s.routes())
	s.Host = strings.TrimPrefix(s.url, "https://")
	s.Settings = map[string]string{"hostname": s.Host, "organization": CloudOrganization}
	return s
}

// State returns the current state of a workspace, or nil.
func (s *CloudServer) State(workspace string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.find(workspace); w != nil && len(w.versions) > 0 {
		return w.versions[len(w.versions)-1].state
	}
	return nil
}

// Create creates a workspace as people do it in the service.
func (s *CloudServer) Create(workspace string, tags ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workspaces = append(s.workspaces, &cloudWorkspace{ID: fmt.Sprintf("ws-%d", len(s.workspaces)+1), Name: workspace, Tags: tags})
}

// Locked reports whether a workspace is locked.
func (s *CloudServer) Locked(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.find(workspace)
	return w != nil && w.Locked
}

// find is called with mu held, with an id or a name.
func (s *CloudServer) find(name string) *cloudWorkspace {
	for _, w := range s.workspaces {
		if w.Name == name || w.ID == name {
			return w
		}
	}
	return nil
}

func (s *CloudServer) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/terraform.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"tfe.v2":"/api/v2/","tfe.v2.1":"/api/v2/","tfe.v2.2":"/api/v2/","state.v2":"/api/v2/"}`) //nolint:errcheck // the client sees it
	})
	mux.HandleFunc("GET /api/v2/ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("TFP-API-Version", "2.6")
		w.WriteHeader(http.StatusNoContent)
	})
	api := http.NewServeMux()
	api.HandleFunc("GET /api/v2/organizations/"+CloudOrganization+"/entitlement-set", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, resource("entitlement-sets", "org-1", map[string]any{"operations": true, "state-storage": true}))
	})
	const workspaces = "/api/v2/organizations/" + CloudOrganization + "/workspaces"
	api.HandleFunc("GET "+workspaces, s.list)
	api.HandleFunc("POST "+workspaces, s.create)
	api.HandleFunc("GET "+workspaces+"/{workspace}", s.on(showWorkspace))
	api.HandleFunc("PATCH "+workspaces+"/{workspace}", s.on(showWorkspace))
	api.HandleFunc("GET /api/v2/workspaces/{workspace}", s.on(showWorkspace))
	api.HandleFunc("PATCH /api/v2/workspaces/{workspace}", s.on(showWorkspace))
	api.HandleFunc("POST /api/v2/workspaces/{workspace}/relationships/tags", s.on(func(w http.ResponseWriter, _ *http.Request, _ *cloudWorkspace) {
		w.WriteHeader(http.StatusNoContent)
	}))
	api.HandleFunc("POST /api/v2/workspaces/{workspace}/actions/{action}", s.on(lockWorkspace))
	api.HandleFunc("GET /api/v2/workspaces/{workspace}/current-state-version", s.on(s.current))
	api.HandleFunc("GET /api/v2/workspaces/{workspace}/current-state-version-outputs", s.on(s.outputs))
	api.HandleFunc("POST /api/v2/workspaces/{workspace}/state-versions", s.on(s.addVersion))
	api.HandleFunc("GET /api/v2/state-versions/{version}", s.showVersion)
	api.HandleFunc("GET /api/v2/state-version-outputs/{output}", s.showOutput)
	api.HandleFunc("GET /states/{version}", s.download)
	mux.HandleFunc("PUT /states/{version}", s.upload) // its address is the credential
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+CloudToken {
			s.refused.Add(1)
			fail(w, http.StatusUnauthorized, "unauthorized")
			return
		}
		api.ServeHTTP(w, r)
	})
	return mux
}

// on finds the workspace of a request.
func (s *CloudServer) on(do func(http.ResponseWriter, *http.Request, *cloudWorkspace)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		found := s.find(r.PathValue("workspace"))
		if found == nil {
			fail(w, http.StatusNotFound, "not found")
			return
		}
		do(w, r, found)
	}
}

func (s *CloudServer) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for _, found := range s.workspaces {
		tagged := true
		for tag := range strings.SplitSeq(r.URL.Query().Get("search[tags]"), ",") {
			tagged = tagged && (tag == "" || slices.Contains(found.Tags, tag))
		}
		if tagged && strings.Contains(found.Name, r.URL.Query().Get("search[name]")) {
			items = append(items, found.resource())
		}
	}
	send(w, http.StatusOK, map[string]any{"data": items, "meta": map[string]any{"pagination": map[string]any{"current-page": 1, "total-pages": 1, "total-count": len(items)}}})
}

func (s *CloudServer) create(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Data struct {
			Attributes struct {
				Name string `json:"name"`
			} `json:"attributes"`
			Relationships struct {
				Tags struct {
					Data []struct {
						Attributes struct {
							Name string `json:"name"`
						} `json:"attributes"`
					} `json:"data"`
				} `json:"tags"`
			} `json:"relationships"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Data.Attributes.Name == "" {
		fail(w, http.StatusUnprocessableEntity, "invalid attribute")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &cloudWorkspace{ID: fmt.Sprintf("ws-%d", len(s.workspaces)+1), Name: asked.Data.Attributes.Name}
	for _, tag := range asked.Data.Relationships.Tags.Data {
		made.Tags = append(made.Tags, tag.Attributes.Name)
	}
	s.workspaces = append(s.workspaces, made)
	send(w, http.StatusCreated, map[string]any{"data": made.resource()})
}

func (c *cloudWorkspace) resource() map[string]any {
	return object("workspaces", c.ID, map[string]any{"name": c.Name, "locked": c.Locked, "operations": false, "execution-mode": "local", "tag-names": c.Tags,
		"terraform-version": "latest", "permissions": map[string]any{"can-lock": true, "can-unlock": true, "can-force-unlock": true, "can-read-settings": true, "can-queue-run": true}})
}

func showWorkspace(w http.ResponseWriter, _ *http.Request, found *cloudWorkspace) {
	send(w, http.StatusOK, map[string]any{"data": found.resource()})
}

func lockWorkspace(w http.ResponseWriter, r *http.Request, found *cloudWorkspace) {
	switch action := r.PathValue("action"); {
	case action == "lock" && found.Locked:
		fail(w, http.StatusConflict, "conflict")
		return
	case action == "lock":
		found.Locked = true
	default:
		found.Locked = false
	}
	showWorkspace(w, r, found)
}

// version is called with mu held.
func (s *CloudServer) version(id string) *cloudVersion {
	for _, w := range s.workspaces {
		for _, v := range w.versions {
			if v.ID == id {
				return v
			}
		}
	}
	return nil
}

func (s *CloudServer) describe(v *cloudVersion) map[string]any {
	url := s.url + "/states/" + v.ID
	return resource("state-versions", v.ID, map[string]any{"serial": v.Serial, "hosted-state-download-url": url, "hosted-state-upload-url": url,
		"hosted-json-state-upload-url": url + "-described", "status": "finalized", "resources-processed": true})
}

func (s *CloudServer) current(w http.ResponseWriter, _ *http.Request, found *cloudWorkspace) {
	if len(found.versions) == 0 {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	send(w, http.StatusOK, s.describe(found.versions[len(found.versions)-1]))
}

func (s *CloudServer) addVersion(w http.ResponseWriter, r *http.Request, found *cloudWorkspace) {
	var asked struct {
		Data struct {
			Attributes struct {
				Serial int64  `json:"serial"`
				State  string `json:"state"`
				Force  bool   `json:"force"`
			} `json:"attributes"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		fail(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	given := asked.Data.Attributes
	if n := len(found.versions); n > 0 && found.versions[n-1].Serial > given.Serial && !given.Force || !found.Locked {
		fail(w, http.StatusConflict, "the serial is old, or the workspace is not locked")
		return
	}
	v := &cloudVersion{ID: fmt.Sprintf("sv-%s-%d", found.ID, len(found.versions)+1), Serial: given.Serial}
	if given.State != "" {
		v.state, _ = base64.StdEncoding.DecodeString(given.State) //nolint:errcheck // tofu notices
	}
	found.versions = append(found.versions, v)
	send(w, http.StatusCreated, s.describe(v))
}

func (s *CloudServer) showVersion(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.version(r.PathValue("version"))
	if v == nil {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	send(w, http.StatusOK, s.describe(v))
}

func (s *CloudServer) upload(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.version(r.PathValue("version")); v != nil && err == nil {
		v.state = data
	}
}

func (s *CloudServer) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.version(r.PathValue("version")); v != nil {
		w.Write(v.state) //nolint:errcheck // the client sees it
		return
	}
	fail(w, http.StatusNotFound, "not found")
}

// outputsOf are the outputs of a version as the API describes them, those that are sensitive without
// their values.
func outputsOf(v *cloudVersion, bare bool) []map[string]any {
	var file struct {
		Outputs map[string]struct {
			Value, Type json.RawMessage
			Sensitive   bool
		}
	}
	list := []map[string]any{}
	if json.Unmarshal(v.state, &file) != nil {
		return list
	}
	for name, output := range file.Outputs {
		attributes := map[string]any{"name": name, "sensitive": output.Sensitive, "type": "string", "detailed-type": output.Type, "value": output.Value}
		if output.Sensitive && bare {
			attributes["value"] = nil
		}
		list = append(list, object("state-version-outputs", v.ID+"."+name, attributes))
	}
	return list
}

func (s *CloudServer) outputs(w http.ResponseWriter, _ *http.Request, found *cloudWorkspace) {
	list := []map[string]any{}
	if n := len(found.versions); n > 0 {
		list = outputsOf(found.versions[n-1], true)
	}
	send(w, http.StatusOK, map[string]any{"data": list})
}

func (s *CloudServer) showOutput(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("output")
	version, _, _ := strings.Cut(id, ".")
	if v := s.version(version); v != nil {
		for _, output := range outputsOf(v, false) {
			if output["id"] == id {
				send(w, http.StatusOK, map[string]any{"data": output})
				return
			}
		}
	}
	fail(w, http.StatusNotFound, "not found")
}

func object(kind, id string, attributes map[string]any) map[string]any {
	return map[string]any{"type": kind, "id": id, "attributes": attributes}
}

func resource(kind, id string, attributes map[string]any) map[string]any {
	return map[string]any{"data": object(kind, id, attributes)}
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/vnd.api+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client sees it
}

func fail(w http.ResponseWriter, status int, title string) {
	send(w, status, map[string]any{"errors": []any{map[string]string{"status": fmt.Sprint(status), "title": title}}})
}
