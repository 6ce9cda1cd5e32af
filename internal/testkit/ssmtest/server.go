// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Of the server: its region, its account, and the key that signs requests.
const (
	Region    = "eu-central-1"
	Account   = "123456789012"
	AccessKey = "AKIAYUBATEST"
	SecretKey = "only-for-tests"
)

// Server is a Parameter Store of one account in one region.
type Server struct {
	URL string

	mu         sync.Mutex
	parameters map[string]*parameter
	secrets    map[string]*secret
	calls      []string
	throttled  int
}

// tester is what the server needs of a test.
type tester interface {
	Helper()
	Cleanup(func())
}

// New starts a server that ends with the test.
func New(t tester) *Server {
	t.Helper()
	s := &Server{parameters: map[string]*parameter{}, secrets: map[string]*secret{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Environment returns the variables that make AWS's SDK and the provider use the server.
func (s *Server) Environment() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_REGION=" + Region,
		"AWS_ENDPOINT_URL_SSM=" + s.URL, "AWS_ENDPOINT_URL_STS=" + s.URL, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Take returns the actions of the calls since the last Take.
func (s *Server) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// Throttle refuses the next n calls, as AWS does when there are too many.
func (s *Server) Throttle(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.throttled = n
}

// Values returns the last value of each parameter.
func (s *Server) Values() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for name, p := range s.parameters {
		out[name] = p.value
	}
	return out
}

// refusal is an error of the API.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

func refuse(code, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := verify(r, body); err != nil {
		answer(w, nil, err)
		return
	}
	if strings.Contains(string(body), "Action=GetCallerIdentity") {
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::%s:user/test</Arn><UserId>AIDATEST</UserId><Account>%s</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`, Account, Account) //nolint:errcheck // the client's loss
		return
	}
	action, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AmazonSSM.")
	do := actions[action]
	if !ok {
		action, ok = strings.CutPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager.")
		do = secretActions[action]
	}
	if !ok || do == nil {
		answer(w, nil, refuse("UnknownOperationException", "there is no operation %q", r.Header.Get("X-Amz-Target")))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, action)
	if s.throttled > 0 {
		s.throttled--
		answer(w, nil, refuse("ThrottlingException", "Rate exceeded"))
		return
	}
	out, err := do(s, body)
	answer(w, out, err)
}

// answer writes a result or an error.
func answer(w http.ResponseWriter, out any, err error) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if r := new(refusal); errors.As(err, &r) {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]string{"__type": r.code, "message": r.message}
	}
	json.NewEncoder(w).Encode(out) //nolint:errcheck // the client's loss
}

// actions are the calls.
var actions = map[string]func(*Server, []byte) (any, error){
	"PutParameter":           call((*Server).put),
	"GetParameter":           call((*Server).get),
	"GetParameters":          call((*Server).getMany),
	"GetParametersByPath":    call((*Server).byPath),
	"DescribeParameters":     call((*Server).describe),
	"DeleteParameter":        call((*Server).remove),
	"DeleteParameters":       call((*Server).removeMany),
	"AddTagsToResource":      call((*Server).addTags),
	"RemoveTagsFromResource": call((*Server).removeTags),
	"ListTagsForResource":    call((*Server).listTags),
}

// call decodes the body of a call strictly: an argument that the server does not know is an error of
// the server, not something to ignore.
func call[I, O any](do func(*Server, *I) (O, error)) func(*Server, []byte) (any, error) {
	return func(s *Server, body []byte) (any, error) {
		in := new(I)
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(in); err != nil {
			return nil, refuse("SerializationException", "%v", err)
		}
		return do(s, in)
	}
}

// page returns the part of sorted names that follows a token, at most n, and the token of the rest.
func page(names []string, token string, n int) ([]string, string) {
	slices.Sort(names)
	from, found := slices.BinarySearch(names, token)
	if token == "" {
		from, found = 0, false
	}
	if found {
		from++
	}
	names = names[from:]
	if len(names) <= n {
		return names, ""
	}
	return names[:n], names[n-1]
}

// Set writes a parameter as somebody else does.
func (s *Server) Set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.put(&putInput{Name: name, Value: value, Type: "SecureString", Overwrite: true, Tier: "Intelligent-Tiering"}); err != nil {
		panic(err)
	}
}
