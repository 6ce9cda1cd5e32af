// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package send

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const commit = "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"

// message is an event as alerts send it.
func message() Message {
	return Message{ID: "0123abcd", CommitStatus: "kustomization/webapp/7d0cdc51", Event: eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Name: "webapp", Namespace: "apps"},
		Severity:       eventv1.EventSeverityError, Reason: "ValidationFailed", Message: "service/apps/webapp <!channel> spec.type: Unsupported value",
		Metadata:            map[string]string{"summary": "apps in eu-1", "revision": "main@sha1:" + commit, "env": "a&b"},
		Timestamp:           metav1.NewTime(time.Date(2026, 11, 22, 7, 26, 19, 0, time.UTC)),
		ReportingController: "yuba", ReportingInstance: "host",
	}}
}

// service is a real server that records requests.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	requests []asked
	answer   func(w http.ResponseWriter, r asked)
}

type asked struct {
	method, path string
	header       http.Header
	body         string
}

func newService(t *testing.T, answer func(http.ResponseWriter, asked)) *service {
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		one := asked{r.Method, r.URL.RequestURI(), r.Header, string(body)}
		s.mu.Lock()
		s.requests = append(s.requests, one)
		s.mu.Unlock()
		if s.answer != nil {
			s.answer(w, one)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) all() []asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *service) only(t *testing.T) asked {
	t.Helper()
	all := s.all()
	if len(all) != 1 {
		t.Fatalf("there were %d requests, want one", len(all))
	}
	return all[0]
}

func target(kind, address string) Target {
	return Target{Type: kind, Address: Secret(address), Token: "t0ken", Timeout: time.Minute}
}

func mustSend(t *testing.T, target Target, m Message) {
	t.Helper()
	if err := Send(t.Context(), target, m); err != nil {
		t.Fatal(err)
	}
}

// sameJSON compares with the example in a service's documentation.
func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGenericGetsTheEvent(t *testing.T) {
	s := newService(t, nil)
	to := target(notificationv1beta3.GenericProvider, s.URL+"/in?a=b")
	to.Headers = map[string]string{"Authorization": "mine", "X-Forwarded-Proto": "https"}
	mustSend(t, to, message())
	r := s.only(t)
	if r.method != http.MethodPost || r.path != "/in?a=b" || r.header.Get("Gotk-Component") != "yuba" || r.header.Get("Authorization") != "mine" ||
		r.header.Get("X-Forwarded-Proto") != "https" || r.header.Get("Content-Type") != "application/json" || r.header.Get("X-Signature") != "" {
		t.Errorf("%s %s %v", r.method, r.path, r.header)
	}
	sameJSON(t, r.body, `{"involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": "webapp", "namespace": "apps"},
		"metadata": {"summary": "apps in eu-1", "revision": "main@sha1:`+commit+`", "env": "a&b"},
		"severity": "error", "reason": "ValidationFailed", "message": "service/apps/webapp <!channel> spec.type: Unsupported value",
		"reportingController": "yuba", "reportingInstance": "host", "timestamp": "2026-11-22T07:26:19Z"}`)
}

func TestHMACSignsTheBody(t *testing.T) {
	s := newService(t, nil)
	mustSend(t, target(notificationv1beta3.GenericHMACProvider, s.URL), message())
	r := s.only(t)
	mac := hmac.New(sha256.New, []byte("t0ken"))
	mac.Write([]byte(r.body))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.header.Get("X-Signature") != want {
		t.Errorf("the signature is %s, want %s", r.header.Get("X-Signature"), want)
	}
	unsigned := target(notificationv1beta3.GenericHMACProvider, s.URL)
	unsigned.Token = ""
	if err := Send(t.Context(), unsigned, message()); err == nil {
		t.Error("without a token, something is sent")
	}
}

func TestSlackGetsAnAttachment(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ asked) { io.WriteString(w, `{"ok": true}`) })
	to := target(notificationv1beta3.SlackProvider, s.URL+"/api/chat.postMessage")
	to.Channel = "general"
	mustSend(t, to, message())
	r := s.only(t)
	if r.header.Get("Authorization") != "Bearer t0ken" {
		t.Errorf("%v", r.header)
	}
	sameJSON(t, r.body, `{"channel": "general", "username": "yuba", "attachments": [{"color": "danger",
		"author_name": "kustomization/webapp.apps", "text": "service/apps/webapp &lt;!channel&gt; spec.type: Unsupported value", "mrkdwn_in": ["text"],
		"fields": [{"title": "summary", "value": "apps in eu-1", "short": false}, {"title": "env", "value": "a&amp;b", "short": false},
			{"title": "revision", "value": "main@sha1:`+commit+`", "short": false}]}]}`)
}

// chat.postMessage always answers 200.
func TestWhatSlackAnswers(t *testing.T) {
	for answer, test := range map[string]struct {
		want  string
		again bool
	}{
		`{"ok":false,"error":"channel_not_found"}`: {"Slack answers: channel_not_found", false},
		`{"ok":false,"error":"ratelimited"}`:       {"Slack answers: ratelimited", true},
		`{"ok":false,"error":"the t0ken is bad"}`:  {"Slack answers: an error without a name", false},
		`<html>`: {"the response is not from Slack", false},
	} {
		t.Run(answer, func(t *testing.T) {
			s := newService(t, func(w http.ResponseWriter, _ asked) { io.WriteString(w, answer) })
			err := Send(t.Context(), target(notificationv1beta3.SlackProvider, s.URL+"/api/chat.postMessage"), message())
			var e *Error
			if !errors.As(err, &e) || e.Message != test.want || e.Again != test.again {
				t.Errorf("%#v", err)
			}
			// An incoming webhook answers with text, and its status suffices.
			mustSend(t, target(notificationv1beta3.SlackProvider, s.URL+"/services/T0/B0/x"), message())
		})
	}
}

func TestTeamsGetsACard(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ asked) { w.WriteHeader(http.StatusAccepted) })
	mustSend(t, target(notificationv1beta3.MSTeamsProvider, s.URL), message())
	sameJSON(t, s.only(t).body, `{"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": {
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "msteams": {"width": "Full"},
		"body": [{"type": "Container", "items": [
			{"type": "TextBlock", "text": "kustomization/webapp.apps", "size": "large", "weight": "bolder", "wrap": true},
			{"type": "TextBlock", "text": "service/apps/webapp <!channel> spec.type: Unsupported value", "color": "attention", "wrap": true},
			{"type": "FactSet", "facts": [{"title": "summary", "value": "apps in eu-1"}, {"title": "env", "value": "a&b"},
				{"title": "revision", "value": "main@sha1:`+commit+`"}]}]}]}}]}`)
}

// Connectors of Office 365 get their own format.
func TestOldConnectorsOfTeamsGetTheirForm(t *testing.T) {
	for address, want := range map[string]bool{"https://x.webhook.office.com/webhookb2/a": true, "https://x.webhook.office.com:443/": true,
		"https://webhook.office.com.example/": false, "https://prod-1.westus.logic.azure.com:443/workflows/x": false} {
		r, err := composeTeams(target(notificationv1beta3.MSTeamsProvider, address), message())
		if err != nil {
			t.Fatal(err)
		}
		card := r.body.(object)
		isCard := card["@type"] == "MessageCard"
		if isCard != want {
			t.Errorf("%s gets %v", address, card)
		}
		if isCard && (card["themeColor"] != "FF0000" || card["summary"] != "kustomization/webapp.apps" || len(card["sections"].([]object)[0]["facts"].([]object)) != 3) {
			t.Errorf("the card is %v", card)
		}
	}
}

func TestDiscordGetsAnEmbedThatCallsNobody(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ asked) { w.WriteHeader(http.StatusNoContent) })
	m := message()
	m.Event.Severity = eventv1.EventSeverityInfo
	m.Event.Metadata["empty"] = ""
	mustSend(t, target(notificationv1beta3.DiscordProvider, s.URL+"/api/webhooks/1/x"), m)
	sameJSON(t, s.only(t).body, `{"username": "yuba", "allowed_mentions": {"parse": []}, "embeds": [{"title": "kustomization/webapp.apps",
		"description": "service/apps/webapp <!channel> spec.type: Unsupported value", "color": 3061373, "timestamp": "2026-11-22T07:26:19Z",
		"fields": [{"name": "summary", "value": "apps in eu-1"}, {"name": "env", "value": "a&b"}, {"name": "revision", "value": "main@sha1:`+commit+`"}]}]}`)
	r, err := composeDiscord(target(notificationv1beta3.DiscordProvider, s.URL+"/api/webhooks/1/x/slack"), m)
	if err != nil {
		t.Fatal(err)
	}
	if r.body.(object)["attachments"] == nil {
		t.Errorf("an address that ends in /slack gets %v", r.body)
	}
}

func TestMatrixGetsATextInATransaction(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ asked) { io.WriteString(w, `{"event_id": "$1"}`) })
	to := target(notificationv1beta3.Matrix, s.URL+"/")
	to.Channel = "!jezptmDwEeLapMLjOc:matrix.org"
	mustSend(t, to, message())
	mustSend(t, to, message())
	all := s.all()
	if len(all) != 2 || all[0].path != all[1].path {
		t.Fatalf("two attempts are not one transaction: %+v", all)
	}
	if all[0].method != http.MethodPut || all[0].header.Get("Authorization") != "Bearer t0ken" ||
		all[0].path != "/_matrix/client/v3/rooms/%21jezptmDwEeLapMLjOc:matrix.org/send/m.room.message/0123abcd" {
		t.Errorf("%s %s %v", all[0].method, all[0].path, all[0].header)
	}
	sameJSON(t, all[0].body, `{"msgtype": "m.text", "body": "🚨 kustomization/webapp.apps\nservice/apps/webapp <!channel> spec.type: Unsupported value\n- summary: apps in eu-1\n- env: a&b\n- revision: main@sha1:`+commit+`\n"}`)
	to.Channel = ""
	if err := Send(t.Context(), to, message()); err == nil || !strings.Contains(err.Error(), "spec.channel") {
		t.Errorf("without a room: %v", err)
	}
}

// Messages above a service's limit are cut.
func TestLongMessagesAreCut(t *testing.T) {
	m := message()
	m.Event.Message = strings.Repeat("é", 20000)
	for i := range 200 {
		m.Event.Metadata[strings.Repeat("k", 10+i)] = strings.Repeat("v", 5000)
	}
	limits := map[string]int{notificationv1beta3.DiscordProvider: 10000, notificationv1beta3.MSTeamsProvider: 28000,
		notificationv1beta3.Matrix: 65536, notificationv1beta3.SlackProvider: 100000}
	for kind, limit := range limits {
		to := target(kind, "https://service.example/x")
		to.Channel = "room"
		r, err := composers[kind](to, m)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r.body)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > limit || !strings.Contains(string(data), "é…") {
			t.Errorf("%s gets %d bytes", kind, len(data))
		}
	}
}

func TestWhatAnswersMean(t *testing.T) {
	for status, test := range map[int]struct {
		again bool
		after time.Duration
	}{
		200: {}, 204: {}, 302: {}, 400: {}, 401: {}, 403: {}, 404: {}, 408: {true, 0}, 429: {true, 7 * time.Second}, 500: {true, 0}, 503: {true, 7 * time.Second},
	} {
		s := newService(t, func(w http.ResponseWriter, _ asked) {
			if test.after > 0 {
				w.Header().Set("Retry-After", "7")
			}
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			io.WriteString(w, "your t0ken is wrong")
		})
		err := Send(t.Context(), target(notificationv1beta3.GenericProvider, s.URL+"/s3cret"), message())
		if status < 300 {
			if err != nil {
				t.Errorf("%d: %v", status, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Again != test.again || e.After != test.after {
			t.Errorf("%d: %#v", status, err)
		}
		if strings.Contains(err.Error(), "t0ken") && !strings.Contains(err.Error(), "The token may be") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d: the error is %v", status, err)
		}
		if n := len(s.all()); n != 1 {
			t.Errorf("%d: there were %d requests", status, n)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "2.5": 2500 * time.Millisecond, "-3": 0, "x": 0, "99999999999999999999": time.Hour,
		"Sun, 22 Nov 2026 00:01:00 GMT": time.Minute, "Sat, 21 Nov 2026 00:01:00 GMT": 0, "NaN": 0} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWhoDoesNotAnswer(t *testing.T) {
	hung := make(chan struct{})
	s := newService(t, func(http.ResponseWriter, asked) { <-hung })
	defer close(hung)
	to := target(notificationv1beta3.GenericProvider, s.URL)
	to.Timeout = 100 * time.Millisecond
	for address, want := range map[string]string{s.URL: "no response in time", "http://127.0.0.1:1/s3cret": "the connection was refused",
		"http://169.254.169.254/s3cret": "connections to such addresses are refused"} {
		to.Address = Secret(address)
		err := Send(t.Context(), to, message())
		var e *Error
		if !errors.As(err, &e) || !e.Again || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "ftp://x/s3cret", "s3cret", "http://%zz/s3cret", "https:///s3cret"} {
		to.Address = Secret(address)
		err := Send(t.Context(), to, message())
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestProxiesAreAsked(t *testing.T) {
	var through string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		through = r.URL.String() + " " + r.Header.Get("Proxy-Authorization")
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", "pass")
	to := target(notificationv1beta3.GenericProvider, "http://service.example/in")
	to.Proxy = u
	mustSend(t, to, message())
	if want := "http://service.example/in Basic bWU6cGFzcw=="; through != want {
		t.Errorf("the proxy was asked for %q, want %q", through, want)
	}
}

func TestSecretsPrintMasked(t *testing.T) {
	to := target(notificationv1beta3.GenericProvider, "https://hooks.example/s3cret")
	if text := strings.Join([]string{to.Token.String(), to.Address.GoString()}, " "); strings.Contains(text, "t0ken") || strings.Contains(text, "s3cret") {
		t.Error(text)
	}
}

func TestTypes(t *testing.T) {
	want := []string{"discord", "generic", "generic-hmac", "gitea", "github", "gitlab", "matrix", "msteams", "rocket", "slack"}
	if diff := cmp.Diff(want, Types()); diff != "" {
		t.Error(diff)
	}
	for _, kind := range want {
		if !Supported(kind) {
			t.Errorf("%s is not supported", kind)
		}
	}
	if Supported(forward) || Supported("telegram") {
		t.Error("an unknown type is supported")
	}
	if err := Send(context.Background(), target("telegram", "https://x"), message()); err == nil {
		t.Error("something was sent")
	}
}

// A dispatcher that has already seen the event says so; that is a success.
func TestDispatcherThatHasHeardIt(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ asked) { w.WriteHeader(http.StatusTooManyRequests) })
	mustSend(t, Dispatcher(s.URL, time.Minute), message())
}
