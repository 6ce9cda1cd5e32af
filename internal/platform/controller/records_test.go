// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// zone is what a DNS server has: internal/dns/resolve asks real ones, and has its own tests.
type zone struct {
	sync.Mutex
	wrong map[string]string
	// asked counts the questions for a name.
	asked map[string]int
}

var answers = &zone{wrong: map[string]string{}, asked: map[string]int{}}

// silent is a resolver that never answers.
const silent = "192.0.2.99:53"

func (z *zone) check(ctx context.Context, resolver, name, kind string, addresses []string) (string, error) {
	z.Lock()
	z.asked[name]++
	z.Unlock()
	switch resolver {
	case "192.0.2.53:53":
		return "", errors.New("ask the DNS server 192.0.2.53:53: no answer")
	case silent:
		<-ctx.Done()
		return "", ctx.Err()
	}
	z.Lock()
	defer z.Unlock()
	if is := z.wrong[name+" "+kind+" "+strings.Join(addresses, ",")]; is != "" {
		return is, nil
	}
	return "", nil
}

func (z *zone) become(record, is string) {
	z.Lock()
	defer z.Unlock()
	z.wrong[record] = is
}

// addresses writes the output of the machines of a region.
func (w *world) addresses(stack, machines string) {
	w.Helper()
	data := map[string][]byte{"machines": []byte(machines)}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: stack + "-outputs",
		Annotations: map[string]string{infrav1.OpenOutputsAnnotation: inputs.OpenOutputs{Open: []string{"machines"}}.Annotation(data)}}, Data: data}
	if err := w.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	t := w.stack(stack)
	t.Status.OutputsSecret = secret.Name
	if err := w.Status().Update(w.Context(), t); err != nil {
		w.Fatal(err)
	}
}

// records waits for the condition RecordsPresent.
func (w *world) records(p *yubav1.Platform, reason, says string) {
	w.Helper()
	w.eventually("the records are "+reason+": "+says, func() string {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		c := conditions.Of(p, yubav1.ConditionRecordsPresent)
		if c.Reason != reason || !strings.Contains(c.Message, says) {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
}

// resolver names another resolver: the last answers are of the former one.
func (w *world) resolver(p *yubav1.Platform, resolver string) {
	w.Helper()
	w.change(p, func(s *yubav1.PlatformSpec) { s.Domain.Manual.Resolver = resolver })
}

func TestRecordsThatPeopleCreate(t *testing.T) {
	w := newWorld(t)
	domain := w.domain()
	answers.become(domain+" A 192.0.2.1,192.0.2.2", "is missing")
	answers.become("*."+domain+" AAAA 2001:db8::1", "is 2001:db8::9")
	p := w.platform("acme", domain, func(s *yubav1.PlatformSpec) {
		s.Domain.Manual = &yubav1.PlatformManualDNS{Resolver: "192.0.2.53:53", Wait: true}
	})
	w.await(p, yubav1.ReasonPlatformProgressing, "0/6 ready")
	if c := conditions.Of(p, yubav1.ConditionRecordsPresent); c.Reason != "" || w.stack("acme-eu-gitops") != nil || w.stack("acme-eu-vault") != nil {
		t.Errorf("before the machines have addresses, records are %s, and later phases exist", c.Message)
	}
	for _, phase := range []string{"network", "machines", "kubernetes"} {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.addresses("acme-eu-machines", `{"addresses": ["192.0.2.2", "192.0.2.1", "2001:db8::1", "nonsense"]}`)

	// The resolver does not answer: it is said, and the phase waits.
	w.records(p, yubav1.ReasonRecordsUnknown, "Yuba cannot ask for 4 of 4 DNS records: ask the DNS server 192.0.2.53:53: no answer. Set spec.domain.manual.resolver")
	w.await(p, yubav1.ReasonPlatformProgressing, "eu/dns waits for DNS records, and cannot check them")

	w.resolver(p, "192.0.2.54:53")
	w.records(p, yubav1.ReasonRecordsMissing, "Create these DNS records, 2 of 4: "+domain+" A 192.0.2.1,192.0.2.2 (is missing); *."+domain+" AAAA 2001:db8::1 (is 2001:db8::9)")
	w.await(p, yubav1.ReasonPlatformProgressing, "3/6 ready. eu/dns waits for DNS records that people create, 2 of 4: "+domain+" A 192.0.2.1,192.0.2.2 (is missing). All of them: yuba bootstrap status")
	if w.stack("acme-eu-gitops") != nil {
		t.Error("a phase that needs the names is made before they exist")
	}
	if r := p.Status.Records; len(r) != 4 || r[0].Name != domain || r[0].Type != "A" || r[0].State != yubav1.RecordMissing || r[1].State != yubav1.RecordPresent || r[0].Region != "eu" {
		t.Errorf("the records are %+v", r)
	}

	answers.become(domain+" A 192.0.2.1,192.0.2.2", "")
	answers.become("*."+domain+" AAAA 2001:db8::1", "")
	// Without any change, the resolver is asked again.
	w.records(p, yubav1.ReasonRecordsPresent, "All 4 DNS records exist")
	w.eventually("the later phases are made", func() string {
		if w.stack("acme-eu-gitops") == nil || w.stack("acme-eu-vault") == nil {
			return "they are not"
		}
		return ""
	})
	for _, phase := range []string{"gitops", "vault"} {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.await(p, yubav1.ReasonPlatformReady, "All 6 phases are ready")
	// Suspended, nobody is asked, and what is known stays.
	w.change(p, func(s *yubav1.PlatformSpec) { s.Suspend = true })
	w.await(p, yubav1.ReasonPlatformSuspended, "")
	w.records(p, yubav1.ReasonRecordsPresent, "All 4 DNS records exist")
	w.change(p, func(s *yubav1.PlatformSpec) { s.Suspend = false })
	// A resolver without an answer makes nothing wait that was ready.
	w.resolver(p, "192.0.2.53:53")
	w.records(p, yubav1.ReasonRecordsUnknown, "no answer")
	for _, phase := range p.Status.Phases {
		if phase.Phase == yubav1.PhaseDNS && phase.State != yubav1.PhaseReady {
			t.Errorf("the phase dns is %s: %s", phase.State, phase.Message)
		}
	}
	second := w.platform("second", domain)
	w.await(second, yubav1.ReasonPlatformDomainTaken, "The platform acme has the same DNS name: it has begun with that name, which it has since ")
}

// Without wait, a platform is ready before people have created its records, and says which are missing.
func TestRecordsThatNobodyWaitsFor(t *testing.T) {
	w := newWorld(t)
	answers.become(w.domain()+" A 192.0.2.1", "is missing")
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	for _, phase := range all {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.addresses("acme-eu-machines", `{"addresses": ["192.0.2.1"]}`)
	w.await(p, yubav1.ReasonPlatformReady, "All 5 phases are ready")
	w.records(p, yubav1.ReasonRecordsMissing, "Create these DNS records, 1 of 2: "+w.domain()+" A 192.0.2.1 (is missing)")
	w.change(p, func(s *yubav1.PlatformSpec) { s.Domain.Mode, s.Domain.Provider = yubav1.DomainAPI, "hetzner" })
	w.records(p, "", "")
	if len(p.Status.Records) > 0 {
		t.Errorf("the records of somebody else's are %+v", p.Status.Records)
	}
}

// More platforms than there are workers name a resolver that never answers. Their passes do not wait for it, and neither
// does anybody else.
func TestAResolverThatNeverAnswersDelaysNobody(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		name := fmt.Sprintf("slow%d", i)
		p := w.platform(name, name+"."+w.domain(), func(s *yubav1.PlatformSpec) { s.Domain.Manual = &yubav1.PlatformManualDNS{Resolver: silent} })
		w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
		w.becomes(name+"-eu-network", metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
		w.becomes(name+"-eu-machines", metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
		w.addresses(name+"-eu-machines", `{"addresses": ["192.0.2.1"]}`)
		w.records(p, yubav1.ReasonRecordsAsked, "2 DNS records are needed; the resolver is asked for them")
		w.await(p, yubav1.ReasonPlatformProgressing, "2/5 ready")
	}
	p := w.platform("slow6", "slow6."+w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	w.becomes("slow6-eu-network", metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	w.await(p, yubav1.ReasonPlatformProgressing, "1/5 ready")
}

// questions is how often somebody asked for a name.
func (z *zone) questions(name string) int {
	z.Lock()
	defer z.Unlock()
	return z.asked[name]
}

// Nobody asks for the records of a platform that is refused; what is known of them stays.
func TestNobodyAsksForARefusedPlatform(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	for _, phase := range []string{"network", "machines"} {
		w.becomes("acme-eu-"+phase, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, "")
	}
	w.await(p, yubav1.ReasonPlatformProgressing, "2/5 ready")
	w.change(p, func(s *yubav1.PlatformSpec) { s.Library = nil })
	w.await(p, yubav1.ReasonPlatformInvalid, "")
	w.addresses("acme-eu-machines", `{"addresses": ["192.0.2.7"]}`)
	w.resolvable(p, "192.0.2.60:53")
	w.records(p, "", "")
	if n := answers.questions(w.domain()); n != 0 {
		t.Errorf("somebody asked %d times for the records of a platform that cannot be made", n)
	}
	w.change(p, func(s *yubav1.PlatformSpec) { s.Library = w.spec("").Library })
	w.records(p, yubav1.ReasonRecordsPresent, "All 2 DNS records exist")
	asked := answers.questions(w.domain())
	w.change(p, func(s *yubav1.PlatformSpec) { s.Library = nil })
	w.await(p, yubav1.ReasonPlatformInvalid, "")
	w.records(p, yubav1.ReasonRecordsPresent, "All 2 DNS records exist")
	w.resolvable(p, "192.0.2.61:53") // what another one said says nothing about this one
	w.records(p, "", "")
	if n := answers.questions(w.domain()); n != asked {
		t.Errorf("somebody asked %d more times for the records of a platform that cannot be made", n-asked)
	}
}

// resolvable names another resolver, which would be asked at once, and waits for the pass.
func (w *world) resolvable(p *yubav1.Platform, resolver string) {
	w.Helper()
	w.change(p, func(s *yubav1.PlatformSpec) { s.Domain.Manual = &yubav1.PlatformManualDNS{Resolver: resolver} })
	w.await(p, yubav1.ReasonPlatformInvalid, "")
}
