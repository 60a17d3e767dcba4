// The default theme, which also draws the diagrams of the pages.
import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { nextTick, onMounted, watch } from 'vue';

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    const draw = async () => {
      await nextTick();
      if (document.querySelector('pre.mermaid:not([data-processed])') === null) return;
      const { default: mermaid } = await import('mermaid');
      mermaid.initialize({ startOnLoad: false, securityLevel: 'strict' });
      await mermaid.run({ querySelector: 'pre.mermaid' });
    };
    onMounted(draw);
    watch(() => route.path, draw);
  },
};
