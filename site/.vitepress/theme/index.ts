import DefaultTheme from 'vitepress/theme-without-fonts';
import SiteVersion from './SiteVersion.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }: { app: { component(name: string, component: unknown): void } }): void {
    app.component('SiteVersion', SiteVersion);
  },
};
