// Two versions of a kind as kubebuilder lays them out: v1 is stored and is the hub, v1beta1 is a spoke.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

var (
	group        = "workshop.example"
	v1           = schema.GroupVersion{Group: group, Version: "v1"}
	v1beta1      = schema.GroupVersion{Group: group, Version: "v1beta1"}
	finalizer    = group + "/switch-off"
	defaultWatts = int64(40)
)

type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              LampSpec   `json:"spec,omitempty"`
	Status            LampStatus `json:"status,omitempty"`
}

type LampSpec struct {
	Watts int64  `json:"watts,omitempty"`
	Color string `json:"color,omitempty"`
}

type LampStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Lit                bool               `json:"lit,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type LampList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Lamp `json:"items"`
}

// BetaLamp is a Lamp of v1beta1: its power is a text, and it has no color.
type BetaLamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BetaLampSpec `json:"spec,omitempty"`
	Status            LampStatus   `json:"status,omitempty"`
}

type BetaLampSpec struct {
	Power string `json:"power,omitempty"`
}

type BetaLampList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BetaLamp `json:"items"`
}

// Keeps what v1beta1 has no field for.
var colorAnnotation = group + "/color"

func (*Lamp) Hub() {}

func (beta *BetaLamp) ConvertTo(to conversion.Hub) error {
	lamp := to.(*Lamp)
	lamp.ObjectMeta = *beta.ObjectMeta.DeepCopy()
	lamp.Status = *beta.Status.deepCopy()
	if beta.Spec.Power != "" {
		if _, err := fmt.Sscanf(beta.Spec.Power, "%d W", &lamp.Spec.Watts); err != nil {
			return fmt.Errorf("spec.power: %q is no number of watts", beta.Spec.Power)
		}
	}
	if color, is := lamp.Annotations[colorAnnotation]; is {
		lamp.Spec.Color = color
		delete(lamp.Annotations, colorAnnotation)
	}
	return nil
}

func (beta *BetaLamp) ConvertFrom(from conversion.Hub) error {
	lamp := from.(*Lamp)
	beta.ObjectMeta = *lamp.ObjectMeta.DeepCopy()
	beta.Status = *lamp.Status.deepCopy()
	if lamp.Spec.Watts != 0 {
		beta.Spec.Power = fmt.Sprintf("%d W", lamp.Spec.Watts)
	}
	if lamp.Spec.Color != "" {
		if beta.Annotations == nil {
			beta.Annotations = map[string]string{}
		}
		beta.Annotations[colorAnnotation] = lamp.Spec.Color
	}
	return nil
}

func (status *LampStatus) deepCopy() *LampStatus {
	copied := *status
	copied.Conditions = nil
	for _, condition := range status.Conditions {
		copied.Conditions = append(copied.Conditions, *condition.DeepCopy())
	}
	return &copied
}

func (lamp *Lamp) DeepCopyObject() runtime.Object {
	copied := *lamp
	copied.ObjectMeta = *lamp.ObjectMeta.DeepCopy()
	copied.Status = *lamp.Status.deepCopy()
	return &copied
}

func (list *LampList) DeepCopyObject() runtime.Object {
	copied := *list
	copied.Items = make([]Lamp, len(list.Items))
	for at := range list.Items {
		copied.Items[at] = *list.Items[at].DeepCopyObject().(*Lamp)
	}
	return &copied
}

func (beta *BetaLamp) DeepCopyObject() runtime.Object {
	copied := *beta
	copied.ObjectMeta = *beta.ObjectMeta.DeepCopy()
	copied.Status = *beta.Status.deepCopy()
	return &copied
}

func (list *BetaLampList) DeepCopyObject() runtime.Object {
	copied := *list
	copied.Items = make([]BetaLamp, len(list.Items))
	for at := range list.Items {
		copied.Items[at] = *list.Items[at].DeepCopyObject().(*BetaLamp)
	}
	return &copied
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(v1.WithKind("Lamp"), &Lamp{})
	scheme.AddKnownTypeWithName(v1.WithKind("LampList"), &LampList{})
	scheme.AddKnownTypeWithName(v1beta1.WithKind("Lamp"), &BetaLamp{})
	scheme.AddKnownTypeWithName(v1beta1.WithKind("LampList"), &BetaLampList{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v1beta1)
	return scheme
}
